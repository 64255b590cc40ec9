import { damaged, InvalidImage, type ParsedImage, trailingData } from './parsed-image.ts';

interface Chunk {
  type: string;
  data: Buffer;
}

/** Keeps the pixels and their transparency (RFC 9649 §2.5 to §2.7). EXIF, XMP and profiles are left out. */
export function readWebp(file: Buffer): ParsedImage {
  const chunks = readChunks(file);
  const pixels = chunks.filter(({ type }) => type === 'VP8 ' || type === 'VP8L');
  const [image] = pixels;
  if (chunks.some(({ type }) => type === 'ANIM' || type === 'ANMF')) {
    throw new InvalidImage('Use an image without animation.');
  }
  if (!image || pixels.length > 1) throw damaged('it has no pixels');
  const size = image.type === 'VP8L' ? readLossless(image.data) : readLossy(image.data);
  const alpha = image.type === 'VP8 ' ? chunks.find(({ type }) => type === 'ALPH') : undefined;
  const kept = alpha ? [extendedHeader(size), alpha, image] : [image];
  return { ...size, encode: async () => writeFile(kept) };
}

function readChunks(file: Buffer): Chunk[] {
  const length = file.readUInt32LE(4) + 8;
  if (length > file.length) throw damaged('it is cut off');
  if (length < file.length) throw trailingData();
  const chunks: Chunk[] = [];
  for (let at = 12; at < file.length; ) {
    const size = file.readUInt32LE(at + 4);
    const end = at + 8 + size;
    if (end > file.length) throw damaged('it is cut off');
    chunks.push({ type: file.toString('latin1', at, at + 4), data: file.subarray(at + 8, end) });
    at = end + (size % 2);
  }
  return chunks;
}

interface Size {
  width: number;
  height: number;
}

/** RFC 6386 §9.1: a key frame, whose start code precedes its dimensions. Their upper two bits are for scaling. */
function readLossy(data: Buffer): Size {
  const isKeyFrame = (data.readUInt8(0) & 1) === 0;
  if (!isKeyFrame || data.readUIntBE(3, 3) !== 0x9d012a) throw damaged('its header is malformed');
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
}

/** RFC 9649 §3.4: a signature byte, both dimensions less one in 14 bits each, and three bits of the version after one for alpha. */
function readLossless(data: Buffer): Size {
  const bits = data.readUInt32LE(1);
  if (data.readUInt8(0) !== 0x2f || bits >>> 29 !== 0) throw damaged('its header is malformed');
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/** §2.7.1: with no other feature than transparency. */
function extendedHeader({ width, height }: Size): Chunk {
  const data = Buffer.alloc(10);
  data.writeUInt8(0x10, 0);
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return { type: 'VP8X', data };
}

function writeFile(chunks: Chunk[]): Buffer {
  const body = chunks.flatMap(({ type, data }) => {
    const head = Buffer.alloc(8);
    head.write(type, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return [head, data, Buffer.alloc(data.length % 2)];
  });
  const length = body.reduce((sum, part) => sum + part.length, 0);
  const head = Buffer.alloc(12);
  head.write('RIFF', 'latin1');
  head.writeUInt32LE(length + 4, 4);
  head.write('WEBP', 8, 'latin1');
  return Buffer.concat([head, ...body]);
}
