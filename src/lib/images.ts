import { readJpeg } from './jpeg.ts';
import { InvalidImage, type ParsedImage } from './parsed-image.ts';
import { readPng } from './png.ts';
import { readWebp } from './webp.ts';

export { InvalidImage } from './parsed-image.ts';

/** Large enough for a logo, small enough for a page. */
export const MAX_IMAGE_BYTES = 256 * 1024;
const MIN_SIDE = 32;
const MAX_SIDE = 512;

/** A picture that was parsed, and written again without anything but its pixels. */
export interface Image {
  type: 'image/png' | 'image/jpeg' | 'image/webp';
  width: number;
  height: number;
  bytes: Uint8Array;
}

/** The first bytes, in hexadecimal digits, decide, not the name or the declared type of the file. */
const FORMATS = [
  { type: 'image/png', starts: /^89504e470d0a1a0a/, read: readPng },
  { type: 'image/jpeg', starts: /^ffd8ff/, read: readJpeg },
  { type: 'image/webp', starts: /^52494646.{8}57454250/, read: readWebp },
] as const;

export async function readImage(bytes: Uint8Array): Promise<Image> {
  const { encode, ...image } = parseImage(bytes);
  return { ...image, bytes: await encode() };
}

/** Checks everything except the pixels. Throws `InvalidImage`. */
export function checkImage(bytes: Uint8Array): void {
  parseImage(bytes);
}

function parseImage(bytes: Uint8Array): ParsedImage & { type: Image['type'] } {
  if (bytes.length > MAX_IMAGE_BYTES) {
    throw new InvalidImage(`The file is larger than ${MAX_IMAGE_BYTES / 1024} kB.`);
  }
  const start = Buffer.from(bytes.subarray(0, 16)).toString('hex');
  const format = FORMATS.find(({ starts }) => starts.test(start));
  if (!format) throw new InvalidImage('Use a PNG, JPEG or WebP file.');
  const { width, height, encode } = parse(format.read, bytes);
  const sides = [width, height];
  if (sides.some((side) => side < MIN_SIDE || side > MAX_SIDE)) {
    throw new InvalidImage(`The image is ${width} × ${height} pixels. Each side has ${MIN_SIDE} to ${MAX_SIDE}.`);
  }
  return { type: format.type, width, height, encode };
}

/** A read beyond the end of the file is a `RangeError`. */
function parse(read: (file: Buffer) => ParsedImage, bytes: Uint8Array): ParsedImage {
  try {
    return read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidImage('The file is cut off.');
    throw error;
  }
}
