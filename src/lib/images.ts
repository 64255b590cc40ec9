import { InvalidImage, type ParsedPng, readPng } from './png.ts';

export { InvalidImage } from './png.ts';

/** Large enough for a logo, small enough for a page. */
export const MAX_IMAGE_BYTES = 256 * 1024;
const MIN_SIDE = 32;
const MAX_SIDE = 512;

/** The first bytes, in hexadecimal digits, decide, not the name or the declared type of the file. */
const FORMATS = [
  { type: 'image/png', name: 'PNG', starts: /^89504e470d0a1a0a/ },
  { type: 'image/jpeg', name: 'JPEG', starts: /^ffd8ff/ },
  { type: 'image/webp', name: 'WebP', starts: /^52494646.{8}57454250/ },
] as const;

export interface Image {
  type: (typeof FORMATS)[number]['type'];
  bytes: Uint8Array;
}

/** A PNG of a user: parsed, and written again without anything but its pixels. Throws `InvalidImage`. */
export async function readImage(bytes: Uint8Array): Promise<Image> {
  const format = findFormat(bytes);
  if (format?.type === 'image/png') return { type: format.type, bytes: await parsePng(bytes).encode() };
  const what = format ? `This is a ${format.name} file. ` : '';
  throw new InvalidImage(`${what}A logo is a PNG file: open the picture in an image editor and save it as PNG.`);
}

/** A file of the operator, who is trusted: JPEG and WebP files stay as they are, unparsed. */
export async function readOwnImage(bytes: Uint8Array): Promise<Image> {
  const type = checkOwnImage(bytes);
  return type === 'image/png' ? readImage(bytes) : { type, bytes };
}

/** Checks everything except the pixels of a PNG. */
export function checkOwnImage(bytes: Uint8Array): Image['type'] {
  const format = findFormat(bytes);
  if (!format) throw new InvalidImage('Use a PNG, JPEG or WebP file.');
  if (format.type === 'image/png') parsePng(bytes);
  return format.type;
}

function findFormat(bytes: Uint8Array): (typeof FORMATS)[number] | undefined {
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new InvalidImage(`The file is larger than ${MAX_IMAGE_BYTES / 1024} kB.`);
  }
  const start = Buffer.from(bytes.subarray(0, 16)).toString('hex');
  return FORMATS.find(({ starts }) => starts.test(start));
}

function parsePng(bytes: Uint8Array): ParsedPng {
  const parsed = readPng(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  const { width, height } = parsed;
  if ([width, height].some((side) => side < MIN_SIDE || side > MAX_SIDE)) {
    throw new InvalidImage(`The image is ${width} × ${height} pixels. Each side has ${MIN_SIDE} to ${MAX_SIDE}.`);
  }
  return parsed;
}
