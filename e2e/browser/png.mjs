// PNG files with a palette: a picture of a page has few colours, and is a third as big so.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

function* chunks(png) {
  for (let at = signature.length; at < png.length; ) {
    const size = png.readUInt32BE(at);
    yield [png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + size)];
    at += size + 12;
  }
}

/** What a filter of PNG takes for a byte, from those on its left, above and between. */
function guess(kind, left, above, corner) {
  if (kind === 0) return 0;
  if (kind === 1) return left;
  if (kind === 2) return above;
  if (kind === 3) return (left + above) >> 1;
  const a = Math.abs(above - corner);
  const b = Math.abs(left - corner);
  const c = Math.abs(left + above - 2 * corner);
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** The colours of a picture as Chromium writes it (8 bits, not interlaced), one number each. */
function decode(png) {
  const parts = [...chunks(png)];
  const head = parts.find(([name]) => name === "IHDR")[1];
  const [width, height, step] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9] === 6 ? 4 : 3];
  const raw = inflateSync(Buffer.concat(parts.filter(([name]) => name === "IDAT").map(([, data]) => data)));
  const line = width * step;
  const colours = new Uint32Array(width * height);
  let above = new Uint8Array(line);
  for (let y = 0; y < height; y++) {
    const kind = raw[y * (line + 1)];
    const row = new Uint8Array(raw.subarray(y * (line + 1) + 1, (y + 1) * (line + 1)));
    for (let i = 0; i < line; i++) {
      row[i] += guess(kind, i < step ? 0 : row[i - step], above[i], i < step ? 0 : above[i - step]);
    }
    for (let x = 0; x < width; x++) colours[y * width + x] = (row[x * step] << 16) | (row[x * step + 1] << 8) | row[x * step + 2];
    above = row;
  }
  return { width, height, colours };
}

const far = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

/** The most frequent colours that differ to the eye, and for each colour the nearest of them: shades of grey leave room for a rare accent. */
function palette(colours) {
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const chosen = [];
  for (const [colour, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (chosen.length < 64 && (count > 2000 || chosen.every((other) => far(colour, other) > 250))) chosen.push(colour);
  }
  const index = new Map(chosen.map((colour, place) => [colour, place]));
  for (const colour of counts.keys()) {
    if (!index.has(colour)) index.set(colour, chosen.reduce((best, other, place) => (far(colour, other) < far(colour, chosen[best]) ? place : best), 0));
  }
  return { chosen, index };
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** The same picture with at most 64 colours. */
export function shrink(png) {
  const { width, height, colours } = decode(png);
  const { chosen, index } = palette(colours);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(colours[y * width + x]);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(chosen.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", table), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
