import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { InvalidImage, readImage } from '../../src/lib/images.ts';
import {
  JPEG,
  makePng,
  pngChunk,
  WEBP,
  WEBP_LOSSLESS,
  WEBP_LOSSY,
  withSegment,
  withWebpChunk,
} from '../support/images.ts';

const SCRIPT = Buffer.from('<script>alert(document.domain)</script>');
const EXIF = Buffer.from('Exif\0\0MM\0*\0\0\0\x08 51.5007 N 0.1246 W', 'latin1');

const GOOD: Record<string, { file: Buffer; type: string; size: [number, number] }> = {
  'a PNG': { file: makePng(), type: 'image/png', size: [64, 64] },
  'a JPEG': { file: JPEG, type: 'image/jpeg', size: [48, 40] },
  'a lossy WebP': { file: WEBP_LOSSY, type: 'image/webp', size: [48, 40] },
  'a lossy WebP with transparency': { file: WEBP, type: 'image/webp', size: [48, 40] },
  'a lossless WebP': { file: WEBP_LOSSLESS, type: 'image/webp', size: [48, 40] },
};

for (const [name, { file, type, size }] of Object.entries(GOOD)) {
  test(`${name} is recognised by its content, and reading the result again changes nothing`, async () => {
    const image = await readImage(file);

    assert.equal(image.type, type);
    assert.deepEqual([image.width, image.height], size);
    assert.deepEqual(await readImage(image.bytes), image);
  });
}

const HIDDEN: Record<string, Buffer> = {
  'text in a PNG': makePng({ chunks: [['tEXt', Buffer.concat([Buffer.from('Comment\0'), SCRIPT])]] }),
  'EXIF in a PNG': makePng({ chunks: [['eXIf', EXIF]] }),
  'a profile in a PNG': makePng({ chunks: [['iCCP', Buffer.concat([Buffer.from('x\0\0'), SCRIPT])]] }),
  'a chunk of its own kind in a PNG': makePng({ chunks: [['scRi', SCRIPT]] }),
  'bytes after the pixels of a PNG': makePng({
    pixels: Buffer.concat([deflateSync(Buffer.alloc(64 * (1 + 64 * 3))), SCRIPT, EXIF]),
  }),
  'pixels of a PNG that are not compressed': makePng({ pixels: deflateSync(scriptInPixels(), { level: 0 }) }),
  'EXIF in a JPEG': withSegment(JPEG, 0xe1, Buffer.concat([EXIF, SCRIPT])),
  'a comment in a JPEG': withSegment(JPEG, 0xfe, SCRIPT),
  'a made-up JFIF header': withSegment(JPEG, 0xe0, Buffer.concat([Buffer.from('JFIF\0'), SCRIPT])),
  'a segment of Adobe in a JPEG': withSegment(JPEG, 0xee, Buffer.concat([Buffer.from('Adobe\0d\0\0\0\0\x01'), SCRIPT])),
  'EXIF in a WebP': withWebpChunk(WEBP, 'EXIF', Buffer.concat([EXIF, SCRIPT])),
  'XMP in a WebP': withWebpChunk(WEBP_LOSSLESS, 'XMP ', SCRIPT),
  'a chunk of its own kind in a WebP': withWebpChunk(WEBP_LOSSY, 'HTML', SCRIPT),
};

function scriptInPixels(): Buffer {
  const rows = Buffer.alloc(64 * (1 + 64 * 3));
  SCRIPT.copy(rows, 10);
  return rows;
}

for (const [name, file] of Object.entries(HIDDEN)) {
  test(`${name} is left out of the image`, async () => {
    assert.ok(file.includes(SCRIPT) || file.includes('51.5007'));

    const { bytes } = await readImage(file);

    for (const part of ['<script', '51.5007', 'ICC_PROFILE', 'ICCP', 'Exif']) {
      assert.ok(!Buffer.from(bytes).includes(part), part);
    }
  });
}

const [start, end] = [makePng().subarray(0, 8), pngChunk('IEND', Buffer.alloc(0))];
const animated = withWebpChunk(WEBP, 'ANIM', Buffer.alloc(6));
const cmyk = withSegment(JPEG, 0xee, Buffer.from('Adobe\0d\0\0\0\0\x02', 'latin1'));

const BAD: Record<string, [file: Buffer, sentence: RegExp]> = {
  'an empty file': [Buffer.alloc(0), /PNG, JPEG or WebP/],
  'an SVG': [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), /PNG, JPEG/],
  'a page': [Buffer.from('<!doctype html><script>alert(1)</script>'), /PNG, JPEG or WebP/],
  'a GIF that is also a script': [Buffer.from('GIF89a/*;*/=1;alert(1)'), /PNG, JPEG or WebP/],
  'a PDF': [Buffer.from('%PDF-1.7'), /PNG, JPEG or WebP/],
  'a page behind the first bytes of a PNG': [Buffer.concat([start, SCRIPT]), /cut off|damaged/],
  'a page behind the first bytes of a JPEG': [Buffer.concat([JPEG.subarray(0, 3), SCRIPT]), /cut off|damaged/],
  'a page behind the first bytes of a WebP': [Buffer.concat([WEBP.subarray(0, 12), SCRIPT]), /cut off|damaged/],
  'a PNG with an archive behind it': [makePng({ after: Buffer.from('PK\x03\x04') }), /something else after/],
  'a JPEG with an archive behind it': [Buffer.concat([JPEG, Buffer.from('PK\x03\x04')]), /something else after/],
  'a WebP with an archive behind it': [Buffer.concat([WEBP, Buffer.from('PK\x03\x04')]), /something else after/],
  'a PNG whose checksum is wrong': [Buffer.from(makePng()).fill(1, 16, 17), /checksum/],
  'a PNG without a header': [Buffer.concat([start, end]), /no header/],
  'a PNG without pixels': [makePng({ pixels: Buffer.alloc(0) }), /pixels/],
  'a PNG of unknown depth': [makePng({ header: [7, 2, 0, 0, 0] }), /header/],
  'a PNG without its palette': [makePng({ header: [8, 3, 0, 0, 0] }), /palette/],
  'a PNG with an unknown critical chunk': [makePng({ chunks: [['EVIL', SCRIPT]] }), /unknown part/],
  'a PNG with fewer pixels than it says': [makePng({ pixels: deflateSync(Buffer.alloc(100)) }), /dimensions/],
  'a PNG with more pixels than it says': [makePng({ pixels: deflateSync(Buffer.alloc(100_000)) }), /dimensions/],
  'a PNG that decompresses to 200 MB': [makePng({ pixels: deflateSync(Buffer.alloc(200_000_000)) }), /dimensions/],
  'a PNG with an unknown filter': [makePng({ pixels: deflateSync(Buffer.alloc(64 * (1 + 64 * 3), 9)) }), /filter/],
  'a PNG of 60,000 pixels': [makePng({ width: 60_000, height: 60_000, pixels: Buffer.alloc(9) }), /60000 × 60000/],
  'a PNG of 513 pixels, before its pixels are read': [
    makePng({ width: 513, height: 512, pixels: Buffer.alloc(9) }),
    /513 × 512 pixels\. Each side has 32 to 512/,
  ],
  'a PNG of one pixel': [makePng({ width: 1, height: 1 }), /1 × 1 pixels/],
  'a JPEG that is cut off': [JPEG.subarray(0, -2), /cut off/],
  'a JPEG in CMYK': [cmyk, /RGB/],
  'a JPEG with a wrong table': [withSegment(JPEG, 0xdb, Buffer.concat([Buffer.alloc(65), SCRIPT])), /tables/],
  'a JPEG with an unknown part': [withSegment(JPEG, 0xf7, SCRIPT), /unknown part/],
  'an arithmetic-coded JPEG': [withSegment(JPEG, 0xc9, SCRIPT), /baseline or progressive/],
  'an animated WebP': [animated, /animation/],
  'a WebP that is cut off': [WEBP.subarray(0, -4), /cut off/],
  'a file of 10 MB': [Buffer.concat([JPEG, Buffer.alloc(10_000_000)]), /larger than 256 kB/],
};

for (const [name, [file, sentence]] of Object.entries(BAD)) {
  test(`${name} is not accepted, in a sentence that says why`, async () => {
    await assert.rejects(readImage(file), (error) => {
      assert.ok(error instanceof InvalidImage, String(error));
      assert.match(error.message, sentence);
      return true;
    });
  });
}

test('a file that is truncated anywhere, or has any byte changed, is accepted or rejected, and never fails otherwise', async () => {
  for (const file of [makePng(), JPEG, WEBP, WEBP_LOSSLESS]) {
    for (let at = 0; at < file.length; at += 1) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      for (const each of [file.subarray(0, at), changed]) {
        await readImage(each).catch((error) => assert.ok(error instanceof InvalidImage, String(error)));
      }
    }
  }
});
