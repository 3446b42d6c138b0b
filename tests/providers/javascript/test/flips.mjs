// Every way to flip one bit in what a signature covers.
import { Wire } from "./wire.mjs";

/** What may fail in a minute before the answer turns to 429: per source, and per webhook. */
const perSource = 30;
export const perWebhook = 300;

const copyWithFlip = (bytes, bit) => {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] ^= 1 << (bit & 7);
  return copy;
};

/** No header can carry these bytes: HTTP itself refuses them, before any webhook. */
const unsendable = (byte) => (byte < 0x20 && byte !== 0x09) || byte === 0x7f;

/** Lists the flips of a request; signed says what the headers that count are, at each byte. */
export function flipsOf(request, signed) {
  const flips = [];
  const each = (part, bytes, make) => {
    for (let bit = 0; bit < bytes.length * 8; bit++) flips.push({ part: typeof part === "string" ? part : part(bit >> 3), bit, make });
  };
  each("body", request.body, (from, bit) => ({ headers: from.headers, body: copyWithFlip(from.body, bit) }));
  request.headers.forEach(([name, value], index) => {
    if (!signed[name]) return;
    each(signed[name], value, (from, bit) => {
      const flipped = copyWithFlip(from.headers[index][1], bit);
      return { headers: from.headers.with(index, [name, flipped]), body: from.body, unsendable: unsendable(flipped[bit >> 3]) };
    });
  });
  return flips;
}

/** Sends flips of a request to its webhook, no more from one address than it may fail. */
export async function sendFlips(url, request, flips, addressOf) {
  const wrong = [];
  for (let begin = 0, source = 0; begin < flips.length; begin += perSource, source++) {
    const wire = new Wire(url, addressOf(source));
    for (const { part, bit, make } of flips.slice(begin, begin + perSource)) {
      const { headers, body, unsendable } = make(request, bit);
      const { status } = await wire.post(headers, body);
      if (unsendable) wire.close(); // a line break in a header leaves bytes behind
      const wanted = unsendable ? [400, 401] : [401];
      if (!wanted.includes(status)) wrong.push(`${part}, bit ${bit}: ${status}, not ${wanted.join(" or ")}`);
    }
    wire.close();
  }
  return wrong;
}
