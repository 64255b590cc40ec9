import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { InvalidImage, readImage } from '../../src/lib/images.ts';
import { JPEG, makePng, pngChunk, WEBP } from '../support/images.ts';

const SCRIPT = Buffer.from('<script>alert(document.domain)</script>');
const EXIF = Buffer.from('Exif\0\0MM\0*\0\0\0\x08 51.5007 N 0.1246 W', 'latin1');

test('a PNG is recognized by its content, and reading the result again changes nothing', async () => {
  const image = await readImage(makePng());

  assert.equal(image.type, 'image/png');
  assert.deepEqual(await readImage(image.bytes), image);
});

const HIDDEN: Record<string, Buffer> = {
  'text in a PNG': makePng({ chunks: [['tEXt', Buffer.concat([Buffer.from('Comment\0'), SCRIPT])]] }),
  'EXIF in a PNG': makePng({ chunks: [['eXIf', EXIF]] }),
  'a profile in a PNG': makePng({ chunks: [['iCCP', Buffer.concat([Buffer.from('x\0\0'), SCRIPT])]] }),
  'a chunk of its own kind in a PNG': makePng({ chunks: [['scRi', SCRIPT]] }),
  'bytes after the pixels of a PNG': makePng({
    pixels: Buffer.concat([deflateSync(Buffer.alloc(64 * (1 + 64 * 3))), SCRIPT, EXIF]),
  }),
  'pixels of a PNG that are not compressed': makePng({ pixels: deflateSync(scriptInPixels(), { level: 0 }) }),
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

    for (const part of ['<script', '51.5007', 'iCCP', 'eXIf']) {
      assert.ok(!Buffer.from(bytes).includes(part), part);
    }
  });
}

const [start, end] = [makePng().subarray(0, 8), pngChunk('IEND', Buffer.alloc(0))];

const BAD: Record<string, [file: Buffer, sentence: RegExp]> = {
  'an empty file': [Buffer.alloc(0), /^A logo is a PNG file/],
  'an SVG': [
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    /^A logo is a PNG file/,
  ],
  'a page': [Buffer.from('<!doctype html><script>alert(1)</script>'), /^A logo is a PNG file/],
  'a GIF that is also a script': [Buffer.from('GIF89a/*;*/=1;alert(1)'), /^A logo is a PNG file/],
  'a PDF': [Buffer.from('%PDF-1.7'), /^A logo is a PNG file/],
  'a page behind the first bytes of a PNG': [Buffer.concat([start, SCRIPT]), /cut off|damaged/],
  'a PNG with an archive behind it': [makePng({ after: Buffer.from('PK\x03\x04') }), /something else after/],
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
  'a JPEG': [JPEG, /^This is a JPEG file/],
  'a WebP': [WEBP, /^This is a WebP file/],
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
  const file = makePng();
  for (let at = 0; at < file.length; at += 1) {
    const changed = Buffer.from(file);
    changed[at] = (changed[at] ?? 0) ^ 0xff;
    for (const each of [file.subarray(0, at), changed]) {
      await readImage(each).catch((error) => assert.ok(error instanceof InvalidImage, String(error)));
    }
  }
});
