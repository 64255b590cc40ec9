import { crc32, deflateSync } from 'node:zlib';

/** Both images come from Chromium: 48 × 40 pixels, with color profiles. */
const decode = (text: string) => Buffer.from(text, 'base64');

export const JPEG = decode(
  '/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAAAABhY3NwAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAA' +
    'ABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1' +
    'AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAP' +
    'KnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADb/' +
    '2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi' +
    '9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAoADADASIAAhEBAxEB/8QAGAABAAMB' +
    'AAAAAAAAAAAAAAAAAAIGBwX/xAAkEAACAgEDBAMBAQAAAAAAAAABAgADBAYREgUTIUEjQlEyMf/EABgBAAMBAQAAAAAAAAAAAAAAAAABBQQD/8' +
    'QAHREAAgMAAwEBAAAAAAAAAAAAAAECAxEEFDFBEv/aAAwDAQACEQMRAD8A0CQtsSmtrLXCIvkknwJOU3UHUWy8xqUY9mo8QP0+zA4X3KmOnVyN' +
    'T49blaKXtA+xPEGMfU+PY4W+l6gfsDyAlUiMl927d00WqxLq1srYOjDcEHwZOU7T/UWxMxaXY9m08SPw+jLjEVKLldHRM5ffuNy/rc7zRpTdQd' +
    'PbEzWuVfhuO4P4fYjRm58G4qS+HJiIgSSSb9xeP9bjaaNKbp/p7ZeYtzL8NJ3J/T6EuUGVuBBqLk/okLa0urNdqB0b/QRuDERFD04uRpjHsctR' +
    'c9QP1I5ARj6Yx63DX3PaB9QOIMRAz9Wnd/J2qq0prFdSBEXwABsBJxEDR4f/2Q==',
);

export const WEBP = decode(
  'UklGRpgDAABXRUJQVlA4WAoAAAAwAAAALwAAJwAASUNDUMgBAAAAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAAAABhY3NwAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAA' +
    'ABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1' +
    'AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAP' +
    'KnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADZB' +
    'TFBIKQEAAA2Qg23bsTdPbBuzOWrKlH+Lbdu2bdt2stkcXZtBbbt9n+ev1oiYAPgPFbKw15WX//zgwbmRmfdcIJPiDd/zyMvrOJh0FTwmEgwLhV' +
    '+W8g+uq39HITkMzDLp6n7P8DR7AdMyxfMClnwn4GoV+53hCIwDtkaxw3uUWMA3My7HUPAngOT2U4RcoJSMy2CTsiEBr8mnTOZAK2S6zMQhAs4M' +
    'kxGV0S6TMpXy8W/H/cfKRMe/364R0S7bDIdoim3ZVIjk3Qbb00kvkk5AzEoSJnhTgHE8HUhQDagZdgZoO7M4z5yb1ZGuRAPyncBBSZQH7oC+b9' +
    'VnirAQBoQPrTTzlRhO024C6afOIr9Q8V942tQK5M/z20wddOTleR48OBrdAq58Ozdy7sGDz/CvDABWUDggeAAAAFAFAJ0BKjAAKAA+8WCnUCml' +
    'o6K1TVEwHgloAM5S4D1AbYDn//QBvAAJLkjlegF5wDW8AAD+7SH/+4jUQlNlfHAIRMIi/LKmyUSzN8WvNPHAKVo/TrlKFRis9QLdQjm2/UnFO7' +
    'jk/0kqo5jP9JKo3iR43AOhaI6AAA==',
);

export interface PngOptions {
  width?: number;
  height?: number;
  /** Other chunks, before the pixels. */
  chunks?: [type: string, data: Uint8Array][];
  /** Instead of the compressed pixels. */
  pixels?: Uint8Array;
  header?: number[];
  /** After the end. */
  after?: Uint8Array;
  color?: [number, number, number];
}

/** One color, in RGB. */
export function makePng(options: PngOptions = {}): Buffer {
  const { width = 64, height = 64, chunks = [], header = [8, 2, 0, 0, 0], color = [10, 120, 90] } = options;
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  const row = Buffer.from([0, ...Array.from({ length: width }, () => color).flat()]);
  const pixels = options.pixels ?? deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', Buffer.concat([size, Buffer.from(header)])),
    ...chunks.map(([type, data]) => pngChunk(type, data)),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
    options.after ?? Buffer.alloc(0),
  ]);
}

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
