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
function palette(colours, most = 64) {
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const chosen = [];
  for (const [colour, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (chosen.length < most && (count > 2000 || chosen.every((other) => far(colour, other) > 250))) chosen.push(colour);
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

const numbers = (...values) => {
  const out = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => out.writeUInt32BE(value, i * 4));
  return out;
};

/** The chunks before the pixels: the size, and the colours that pixels are numbers of. */
const head = (width, height, chosen) => [
  signature, chunk("IHDR", Buffer.concat([numbers(width, height), Buffer.from([8, 3, 0, 0, 0])])),
  chunk("PLTE", Buffer.from(chosen.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
];

/** The pixels of a part of a picture. */
function pixels({ width, colours }, index, { left, top, right, bottom }) {
  const line = right - left + 1;
  const rows = Buffer.alloc(line * (bottom - top));
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) rows[(y - top) * line + 1 + x - left] = index.get(colours[y * width + x]);
  }
  return deflateSync(rows, { level: 9 });
}

const whole = ({ width, height }) => ({ left: 0, top: 0, right: width, bottom: height });

/** The same picture with at most 64 colours. */
export function shrink(png) {
  const picture = decode(png);
  const { chosen, index } = palette(picture.colours);
  return Buffer.concat([...head(picture.width, picture.height, chosen), chunk("IDAT", pixels(picture, index, whole(picture))), chunk("IEND", Buffer.alloc(0))]);
}

/** The smallest part of a picture that has all that differs from the one before. */
function changed(before, { width, height, colours }) {
  const part = { left: width, top: height, right: 0, bottom: 0 };
  for (let i = 0; i < colours.length; i++) {
    if (colours[i] === before.colours[i]) continue;
    const [x, y] = [i % width, Math.floor(i / width)];
    Object.assign(part, { left: Math.min(part.left, x), top: Math.min(part.top, y), right: Math.max(part.right, x + 1), bottom: Math.max(part.bottom, y + 1) });
  }
  return part.right === 0 ? { left: 0, top: 0, right: 1, bottom: 1 } : part; // a frame has at least a pixel
}

/** An animated PNG of pictures of one size, each with how many milliseconds it stays; it begins again. */
export function animate(frames) {
  const pictures = frames.map(({ png }) => decode(png));
  const all = new Uint32Array(pictures.reduce((sum, { colours }) => sum + colours.length, 0));
  pictures.forEach(({ colours }, i) => all.set(colours, i * colours.length));
  const { chosen, index } = palette(all, 160);
  const [{ width, height }] = pictures;
  const out = [...head(width, height, chosen), chunk("acTL", numbers(frames.length, 0))];
  let sequence = 0;
  pictures.forEach((picture, i) => {
    const part = i === 0 ? whole(picture) : changed(pictures[i - 1], picture);
    const time = Buffer.from([frames[i].ms >> 8, frames[i].ms & 255, 1000 >> 8, 1000 & 255, 0, 0]);
    out.push(chunk("fcTL", Buffer.concat([numbers(sequence++, part.right - part.left, part.bottom - part.top, part.left, part.top), time])));
    const data = pixels(picture, index, part);
    out.push(i === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([numbers(sequence++), data])));
  });
  return Buffer.concat([...out, chunk("IEND", Buffer.alloc(0))]);
}
