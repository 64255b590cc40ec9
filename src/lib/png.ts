import { promisify } from 'node:util';
import { crc32, deflate, inflate } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Bits of one sample by color type (PNG specification, table 11.1), and samples of one pixel. */
const COLOR_TYPES: Record<number, { depths: number[]; samples: number }> = {
  0: { depths: [1, 2, 4, 8, 16], samples: 1 },
  2: { depths: [8, 16], samples: 3 },
  3: { depths: [1, 2, 4, 8], samples: 1 },
  4: { depths: [8, 16], samples: 2 },
  6: { depths: [8, 16], samples: 4 },
};

interface Header {
  width: number;
  height: number;
  bitsPerPixel: number;
  colorType: number;
  isInterlaced: boolean;
}

interface Chunk {
  type: string;
  data: Buffer;
}

/** The message is a sentence for the person who chose the file. */
export class InvalidImage extends Error {}

/** The parts of a file that are needed to show it. */
export interface ParsedPng {
  width: number;
  height: number;
  /** The file without anything else. Only called if the dimensions are acceptable. */
  encode(): Promise<Uint8Array>;
}

/**
 * Keeps the header, the palette, transparency and pixels. The pixels are decompressed and compressed again, so that a file
 * that was hidden in the compressed data is gone, too. Text, profiles, EXIF and the frames of an animation are left out.
 */
export function readPng(file: Buffer): ParsedPng {
  try {
    return parsePng(readChunks(file));
  } catch (error) {
    // A read beyond the end of the file.
    if (error instanceof RangeError) throw new InvalidImage('The file is cut off.');
    throw error;
  }
}

function parsePng(chunks: Chunk[]): ParsedPng {
  const [first] = chunks;
  if (first?.type !== 'IHDR') throw damaged('it has no header');
  const header = readHeader(first.data);
  const kept = chunks.filter((chunk) => chunk === first || isKept(chunk, header));
  if (header.colorType === 3 && !kept.some(({ type }) => type === 'PLTE')) throw damaged('it has no palette');
  const pixels = readPixels(chunks);
  return {
    width: header.width,
    height: header.height,
    encode: async () =>
      Buffer.concat([
        SIGNATURE,
        ...kept.map(writeChunk),
        writeChunk({ type: 'IDAT', data: await recompress(pixels, header) }),
        writeChunk({ type: 'IEND', data: Buffer.alloc(0) }),
      ]),
  };
}

function readChunks(file: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; ; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const end = at + 8 + length;
    const checksum = file.readUInt32BE(end);
    if (!/^[A-Za-z]{4}$/.test(type) || crc32(file.subarray(at + 4, end)) !== checksum)
      throw damaged('a checksum is wrong');
    chunks.push({ type, data: file.subarray(at + 8, end) });
    at = end + 4;
    if (type !== 'IEND') continue;
    // A second file, such as an archive or a script.
    if (at !== file.length)
      throw new InvalidImage('The file contains something else after the image. Export it again.');
    return chunks;
  }
}

function readHeader(data: Buffer): Header {
  if (data.length !== 13) throw damaged('its header is malformed');
  const [depth = 0, colorType = 0, compression, filter, interlace = 0] = data.subarray(8);
  const color = COLOR_TYPES[colorType];
  if (!color?.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1) {
    throw damaged('its header is malformed');
  }
  return {
    width: data.readUInt32BE(0),
    height: data.readUInt32BE(4),
    bitsPerPixel: depth * color.samples,
    colorType,
    isInterlaced: interlace === 1,
  };
}

/** The length of the transparency by color type; of a palette, the greatest length. */
const TRANSPARENCY: Record<number, number> = { 0: 2, 2: 6, 3: 256 };

/** A decoder ignores ancillary chunks that it does not know, and must not ignore critical ones: their first letter is upper case. */
function isKept({ type, data }: Chunk, { colorType }: Header): boolean {
  if (type === 'PLTE') {
    if (data.length === 0 || data.length % 3 !== 0 || data.length > 768) throw damaged('its palette is malformed');
    return colorType === 3;
  }
  if (type === 'tRNS') {
    const { [colorType]: longest = 0 } = TRANSPARENCY;
    if (data.length > longest || (colorType !== 3 && data.length < longest)) {
      throw damaged('its transparency is malformed');
    }
    return true;
  }
  if (/^[A-Z]/.test(type) && type !== 'IDAT' && type !== 'IEND') throw damaged(`it has an unknown part, ${type}`);
  return false;
}

function readPixels(chunks: Chunk[]): Buffer {
  const parts = chunks.filter(({ type }) => type === 'IDAT');
  if (parts.length === 0) throw damaged('it has no pixels');
  return Buffer.concat(parts.map(({ data }) => data));
}

/** A small file can decompress to gigabytes: the header says how much there has to be. */
async function recompress(pixels: Buffer, header: Header): Promise<Buffer> {
  const rows = listRows(header);
  const expected = rows.reduce((sum, { count, bytes }) => sum + count * bytes, 0);
  const raw = await promisify(inflate)(pixels, { maxOutputLength: expected }).catch(() => undefined);
  if (raw?.length !== expected) throw damaged('its pixels do not fit its dimensions');
  let at = 0;
  for (const { count, bytes } of rows) {
    for (let row = 0; row < count; row += 1, at += bytes) if ((raw[at] ?? 0) > 4) throw damaged('a row has no filter');
  }
  // Level 9 takes forty times as long for pixels that are made for it, and saves little.
  return promisify(deflate)(raw, { level: 4 });
}

/** Start and step in both directions of the seven passes of Adam7. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Each row has a byte for its filter, and its pixels. */
function listRows({ width, height, bitsPerPixel, isInterlaced }: Header): { count: number; bytes: number }[] {
  const passes = isInterlaced ? PASSES : [[0, 0, 1, 1] as const];
  return passes.flatMap(([x, y, stepX, stepY]) => {
    const [columns, count] = [Math.ceil((width - x) / stepX), Math.ceil((height - y) / stepY)];
    return columns > 0 && count > 0 ? [{ count, bytes: 1 + Math.ceil((columns * bitsPerPixel) / 8) }] : [];
  });
}

function writeChunk({ type, data }: Chunk): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8);
  return chunk;
}

function damaged(problem: string): InvalidImage {
  return new InvalidImage(`The file is damaged: ${problem}. Export it again.`);
}
