// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { ArtifactResponse } from "./types.js";

/** Part of a client. */
export class Artifacts extends Resource {
  /**
   * Get an artifact.
   * Artifacts that are only links are 404.
   */
  get(artifactUid: string, options?: RequestOptions): APIPromise<ArtifactResponse> {
    return this.callJSON<ArtifactResponse>({ method: "GET", path: path`/agent/artifacts/${artifactUid}`, replay: true, options });
  }

  /**
   * Download an artifact.
   * Redirects to the file.
   */
  download(artifactUid: string, options?: RequestOptions): APIPromise<Response> {
    return this.callDownload({ method: "GET", path: path`/agent/artifacts/${artifactUid}/download`, replay: true, options });
  }
}
