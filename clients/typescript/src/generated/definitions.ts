// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { ApplyDefinitionRequest, ApplyDefinitionResponse, DefinitionRequest, DefinitionRevision, DefinitionRevisionDetail, FactoryDefinition, PlanDefinitionResponse, PublishedFolder, SchemaDocuments, SchemaVersions, ValidateDefinitionResponse, ValidateFilesResponse } from "./types.js";

/** Part of a client. */
export class Definitions extends Resource {
  /**
   * Show what creating a factory from a definition would do.
   * For a factory that does not exist yet: checks the files against this server as applying them would, and changes nothing. A definition with mistakes is answered with 400 and all of them in problems. The body is JSON, or a tar.gz of the folder.
   */
  planFiles(body: DefinitionRequest, options?: RequestOptions): APIPromise<PlanDefinitionResponse> {
    return this.callJSON<PlanDefinitionResponse>({ method: "POST", path: "/factory-files/plan", body, replay: true, options });
  }

  /**
   * List the versions of definition files.
   * Needs no key.
   */
  schemaVersions(options?: RequestOptions): APIPromise<SchemaVersions> {
    return this.callJSON<SchemaVersions>({ method: "GET", path: "/factory-files/schemas", replay: true, options });
  }

  /**
   * Get the JSON Schemas of a version.
   * Needs no key.
   */
  schemas(version: string, options?: RequestOptions): APIPromise<SchemaDocuments> {
    return this.callJSON<SchemaDocuments>({ method: "GET", path: path`/factory-files/schemas/${version}`, replay: true, options });
  }

  /**
   * Get the JSON Schema of a kind of file.
   * Needs no key.
   */
  schema(version: string, document: string, options?: RequestOptions): APIPromise<Record<string, unknown>> {
    return this.callJSON<Record<string, unknown>>({ method: "GET", path: path`/factory-files/schemas/${version}/${document}`, replay: true, options });
  }

  /**
   * Check a definition without a factory.
   * Needs no key, and knows no factory: what the files refer to on a server is not checked, but listed in deferred_resolutions. files is an object of texts by path, or a list of {path, content}. diagnostics are the problems with their published codes. The body is JSON, or a tar.gz of the folder.
   */
  validateFiles(body: PublishedFolder, options?: RequestOptions): APIPromise<ValidateFilesResponse> {
    return this.callJSON<ValidateFilesResponse>({ method: "POST", path: "/factory-files/validate", body, replay: true, options });
  }

  /**
   * Export a factory.
   * As JSON, or with Accept: application/gzip as a tar.gz. Applying it again changes nothing.
   */
  get(factoryUid: string, options?: RequestOptions): APIPromise<FactoryDefinition> {
    return this.callJSON<FactoryDefinition>({ method: "GET", path: path`/factory/${factoryUid}/definition`, replay: true, options });
  }

  /**
   * Apply a definition.
   * All or nothing: the factory becomes what the files say, or stays as it is. A definition with mistakes is answered with 400 and all of them in problems. A factory that follows a repository is answered with 409. The body is JSON, or a tar.gz of the folder.
   */
  apply(factoryUid: string, body: ApplyDefinitionRequest, options?: RequestOptions): APIPromise<ApplyDefinitionResponse> {
    return this.callJSON<ApplyDefinitionResponse>({ method: "POST", path: path`/factory/${factoryUid}/definition/apply`, body, replay: false, options });
  }

  /**
   * Show what applying a definition would do.
   * Changes nothing. For each automation whose triggers change, the stored deliveries are tried again. A definition with mistakes is answered with 400 and all of them in problems. The body is JSON, or a tar.gz of the folder.
   */
  plan(factoryUid: string, body: DefinitionRequest, query: DefinitionsPlanQuery = {}, options?: RequestOptions): APIPromise<PlanDefinitionResponse> {
    return this.callJSON<PlanDefinitionResponse>({ method: "POST", path: path`/factory/${factoryUid}/definition/plan`, body, query: { ...query }, replay: true, options });
  }

  /**
   * List the revisions of a definition.
   * Newest first.
   */
  revisions(factoryUid: string, query: DefinitionsRevisionsQuery = {}, options?: RequestOptions): PagePromise<DefinitionRevision> {
    return this.callPage<DefinitionRevision>({ method: "GET", path: path`/factory/${factoryUid}/definition/revisions`, query: { ...query }, replay: true, options }, "revisions");
  }

  /** Get a revision with its files. */
  revision(factoryUid: string, number: number, options?: RequestOptions): APIPromise<DefinitionRevisionDetail> {
    return this.callJSON<DefinitionRevisionDetail>({ method: "GET", path: path`/factory/${factoryUid}/definition/revisions/${number}`, replay: true, options });
  }

  /**
   * Go back to a revision.
   * Applies the files of that revision, as a new one.
   */
  rollback(factoryUid: string, number: number, options?: RequestOptions): APIPromise<ApplyDefinitionResponse> {
    return this.callJSON<ApplyDefinitionResponse>({ method: "POST", path: path`/factory/${factoryUid}/definition/revisions/${number}/rollback`, replay: false, options });
  }

  /**
   * Check a definition for a factory.
   * Finds every mistake at once: in the files, and in what they name on this server. The body is JSON, or a tar.gz of the folder.
   */
  validate(factoryUid: string, body: DefinitionRequest, options?: RequestOptions): APIPromise<ValidateDefinitionResponse> {
    return this.callJSON<ValidateDefinitionResponse>({ method: "POST", path: path`/factory/${factoryUid}/definition/validate`, body, replay: true, options });
  }
}

/** Selects what plan answers. */
export interface DefinitionsPlanQuery {
  /** Shows only what differs, and does not check the stored deliveries. */
  drift?: boolean | undefined;
}

/** Selects what revisions answers. */
export interface DefinitionsRevisionsQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
