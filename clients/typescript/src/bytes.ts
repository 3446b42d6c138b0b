import { LineshaftError } from "./errors.js";

/** Bytes, or a text that stands for its UTF-8. */
export type Bytes = string | Uint8Array | ArrayBuffer;

export function toBytes(value: Bytes): Uint8Array<ArrayBuffer> {
  if (typeof value === "string") return new TextEncoder().encode(value);
  return new Uint8Array(value); // copied if it is a view, so that it is not shared memory
}

export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns undefined for what is not hex. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || /[^0-9a-f]/i.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Takes the standard alphabet with or without padding; undefined for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const plain = text.replace(/=+$/, "");
  if (/[^A-Za-z0-9+/]/.test(plain)) return undefined;
  try {
    return Uint8Array.from(atob(plain), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Makes 128 bits that are new; they need not be secret, so that Node 18 without Web Crypto will do. */
export function randomHex(): string {
  const bytes = new Uint8Array(16);
  const { crypto } = globalThis as { crypto?: Crypto };
  if (crypto) crypto.getRandomValues(bytes);
  else for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256;
  return toHex(bytes);
}

/** The cryptography of the runtime. */
export function subtle(): SubtleCrypto {
  const { crypto } = globalThis as { crypto?: Crypto };
  if (crypto?.subtle) return crypto.subtle;
  throw new LineshaftError(
    "There is no Web Crypto here. Browsers have it on https pages only; in Node 18, set globalThis.crypto to the webcrypto of node:crypto first.",
  );
}
