import { fromBase64, fromHex, toBytes } from "./bytes.js";
import type { KeyKind } from "./schemes.js";

/** A secret made ready to sign with. */
export interface Key {
  kind: KeyKind;
  bytes: Uint8Array<ArrayBuffer>;
}

const minShared = 24;

/** Makes a key of a secret, or says what is wrong with it without saying what it is. */
export function readKey(scheme: string, secret: string): Key {
  if (secret === "") throw new TypeError("The secret is empty; with an empty secret anyone could sign.");
  if (secret.trim() !== secret) throw new TypeError("The secret begins or ends with white space: store it without.");
  if (scheme === "discord") return readPrivate(fromHex(secret));
  if (scheme === "standard_webhooks" && secret.startsWith("whsk_")) return readPrivate(fromBase64(secret.slice(5)));
  if (scheme === "standard_webhooks" || (scheme === "gitlab" && secret.startsWith("whsec_"))) return readShared(secret);
  return { kind: "text", bytes: toBytes(secret) };
}

/** Reads a secret of Standard Webhooks. */
export function readShared(secret: string): Key {
  if (secret.startsWith("whpk_")) throw new TypeError("A public key can only check: to sign, the private one (whsk_) is needed.");
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (bytes === undefined) throw new TypeError("The secret must be whsec_ and base64 after it.");
  if (bytes.length < minShared) throw new TypeError(`The key has ${bytes.length} bytes; ${minShared} are the least that is safe.`);
  return { kind: "shared", bytes };
}

/** Takes a seed, or a seed and the public key after it. */
function readPrivate(bytes: Uint8Array<ArrayBuffer> | undefined): Key {
  if (bytes?.length !== 32 && bytes?.length !== 64) throw new TypeError("To sign, the private Ed25519 key is needed.");
  return { kind: "private", bytes: bytes.slice(0, 32) };
}
