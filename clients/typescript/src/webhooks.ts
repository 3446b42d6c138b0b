import { type Bytes, concat, randomHex, subtle, toBase64, toBytes, toHex } from "./bytes.js";
import type { SignatureScheme, WebhookHMAC } from "./generated/types.js";
import { type Key, readKey } from "./keys.js";
import { type Rule, type Scheme, schemes, settled } from "./schemes.js";

export type { Bytes } from "./bytes.js";
export type { SignatureScheme, WebhookHMAC } from "./generated/types.js";

/** What a sender is about to send. */
export interface SignOptions {
  /** The webhook's signature_scheme. */
  scheme: SignatureScheme;
  /** The webhook's secret; for Ed25519 the private key: whsk_… for Standard Webhooks, hex for Discord. */
  secret: string;
  /** The body exactly as it will be sent. */
  body: Bytes;
  /** Tells deliveries apart: keep it when the same one is sent again. Made where a scheme signs it. */
  id?: string | undefined;
  /** The address it is sent to; for hubspot, square, twilio and templates with {url}. */
  url?: string | undefined;
  /** POST unless given. */
  method?: string | undefined;
  /** Now unless given. */
  time?: Date | undefined;
  /** Of the body; twilio signs forms in another way. */
  contentType?: string | undefined;
  /** The webhook's settings, for the scheme hmac. */
  hmac?: WebhookHMAC | undefined;
}

/** Returns the headers that a sender of the scheme adds to its request. */
export async function sign(options: SignOptions): Promise<Record<string, string>> {
  const scheme = find(options);
  const key = readKey(options.scheme, options.secret);
  const rule = scheme.rules.find((rule) => fits(rule, key, options.contentType ?? ""));
  if (!rule) throw new TypeError(`The scheme ${options.scheme} does not sign with this kind of secret.`);
  const fields = { id: options.id ?? "", stamp: stampOf(rule, options) };
  const headers: Record<string, string> = {};
  if (rule.id) headers[rule.id] = fields.id = checkId(options.id ?? `msg_${randomHex()}`);
  else if (scheme.id && options.id) headers[scheme.id] = options.id;
  if (rule.stamp?.header) headers[rule.stamp.header] = fields.stamp;
  const before = rule.stamp?.item ? `${rule.stamp.item}=${fields.stamp},` : "";
  headers[rule.header] = before + (rule.prefix ?? "") + (await signature(rule, key, options, fields));
  return headers;
}

function find({ scheme, hmac }: SignOptions): Scheme {
  if (scheme === "hmac") return settled(hmac);
  if (!Object.hasOwn(schemes, scheme)) {
    throw new TypeError(`Unknown scheme: use one of ${[...Object.keys(schemes), "hmac"].sort().join(", ")}.`);
  }
  return schemes[scheme];
}

function fits(rule: Rule, key: Key, contentType: string): boolean {
  return (rule.key ?? "text") === key.kind && contentType.startsWith(rule.contentType ?? "");
}

/** The time as the scheme writes it. */
function stampOf({ stamp }: Rule, { time = new Date(), body }: SignOptions): string {
  if (stamp?.body && !new TextDecoder().decode(toBytes(body)).includes(`"${stamp.body}"`)) {
    throw new TypeError(`The scheme wants the time in the body: add ${JSON.stringify(stamp.body)} in milliseconds.`);
  }
  return String(stamp?.milliseconds ? time.getTime() : Math.floor(time.getTime() / 1000));
}

/** An id must not hold what separates it from the rest of the signed text. */
function checkId(id: string): string {
  if (!/^[ -~]{1,256}$/.test(id) || id.includes(".")) {
    throw new TypeError("The scheme needs an id of at most 256 printable characters without a dot.");
  }
  return id;
}

async function signature(rule: Rule, key: Key, options: SignOptions, fields: { id: string; stamp: string }): Promise<string> {
  if (rule.digest === "token") return new TextDecoder().decode(key.bytes);
  const text = await signedText(rule.signed, options, fields);
  const bytes = rule.digest === "Ed25519" ? await ed25519(key, text) : await mac(rule.digest, key, text);
  return rule.encoding === "base64" ? toBase64(bytes) : toHex(bytes);
}

async function signedText(template: string, options: SignOptions, fields: { id: string; stamp: string }): Promise<Uint8Array<ArrayBuffer>> {
  const body = toBytes(options.body);
  const parts = template.split(/(\{\w*\})/).map(async (part): Promise<Uint8Array> => {
    switch (part) {
      case "{body}":
        return body;
      case "{timestamp}":
        return toBytes(fields.stamp);
      case "{id}":
        return toBytes(fields.id);
      case "{method}":
        return toBytes(options.method ?? "POST");
      case "{url}":
        return toBytes(address(options));
      case "{form}":
        return formText(body);
      case "{hashed_url}":
        return toBytes(await hashedURL(address(options), body));
    }
    if (/[{}]/.test(part)) throw new TypeError(`${part} is unknown: use {body}, {timestamp}, {id}, {method} and {url}.`);
    return toBytes(part);
  });
  return concat(await Promise.all(parts));
}

function address({ url }: SignOptions): string {
  if (!url) throw new TypeError("The scheme signs the address: give url, exactly as the server's owner gave it to you.");
  return url;
}

/**
 * Names and values of a form in order; a value that a name has twice counts once. It is done with
 * bytes, each a letter of its own: the order is theirs, and a form need not be UTF-8.
 */
function formText(body: Uint8Array): Uint8Array {
  const form = new Map<string, Set<string>>();
  const letters = Array.from(body, (byte) => String.fromCharCode(byte)).join("");
  for (const member of letters.split("&")) {
    if (member === "") continue;
    const [name = "", ...value] = member.split("=");
    const key = unescapeForm(name);
    form.set(key, (form.get(key) ?? new Set()).add(unescapeForm(value.join("="))));
  }
  const names = [...form.keys()].sort();
  const text = names.map((name) => [...form.get(name)!].sort().map((value) => name + value).join("")).join("");
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function unescapeForm(text: string): string {
  return text.replaceAll("+", " ").replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/** The address with the hash of the body, which may be in it already. */
async function hashedURL(url: string, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const member = `bodySHA256=${toHex(new Uint8Array(await subtle().digest("SHA-256", body)))}`;
  if (url.includes(member)) return url;
  return url + (url.includes("?") ? "&" : "?") + member;
}

async function mac(hash: string, key: Key, text: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const imported = await subtle().importKey("raw", key.bytes, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, text));
}

/** What stands before the seed of an Ed25519 key in PKCS #8. */
const pkcs8 = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20);

async function ed25519(key: Key, text: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const imported = await subtle().importKey("pkcs8", concat([pkcs8, key.bytes]), "Ed25519", false, ["sign"]);
  return new Uint8Array(await subtle().sign("Ed25519", imported, text));
}
