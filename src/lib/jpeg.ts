import { damaged, InvalidImage, type ParsedImage, trailingData } from './parsed-image.ts';

/** Markers of ITU-T T.81, table B.1. */
const SOI = Buffer.from([0xff, 0xd8]);
const EOI = Buffer.from([0xff, 0xd9]);
const JFIF = Buffer.from('\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00', 'latin1');
const [SOF0, SOF1, SOF2, DHT, DAC, SOS, DQT, DRI, APP0, APP14, APP15, COM] = [
  0xc0, 0xc1, 0xc2, 0xc4, 0xcc, 0xda, 0xdb, 0xdd, 0xe0, 0xee, 0xef, 0xfe,
];

/** A few hundred scans of a progressive image keep a browser busy; encoders write about ten. */
const MAX_SCANS = 64;
const MAX_TABLES = 64;

interface Frame {
  width: number;
  height: number;
}

interface Reading {
  file: Buffer;
  at: number;
  kept: Buffer[];
  frame: Frame | undefined;
  /** How the colors are stored: the transform of Adobe's segment. */
  adobeTransform: number | undefined;
  scans: number;
  tables: number;
}

/** Keeps the tables, the frame and its scans. EXIF, profiles, comments, thumbnails and a second picture are left out or rejected. */
export function readJpeg(file: Buffer): ParsedImage {
  const reading: Reading = { file, at: 2, kept: [], frame: undefined, adobeTransform: undefined, scans: 0, tables: 0 };
  let isOpen = true;
  while (isOpen) isOpen = readSegment(reading);
  const { frame, kept, adobeTransform } = reading;
  if (!frame || reading.scans === 0) throw damaged('it has no pixels');
  const start = adobeTransform === undefined ? JFIF : adobeSegment(adobeTransform);
  return { ...frame, encode: async () => Buffer.concat([SOI, start, ...kept, EOI]) };
}

/** False at the end of the image. */
function readSegment(reading: Reading): boolean {
  const { file, at } = reading;
  const marker = file.readUInt8(at + 1);
  if (file.readUInt8(at) !== 0xff) throw damaged('a marker is missing');
  if (marker === 0xff) {
    reading.at += 1;
    return true;
  }
  if (marker === EOI[1]) {
    if (at + 2 !== file.length) throw trailingData();
    return false;
  }
  const end = at + 2 + file.readUInt16BE(at + 2);
  if (end > file.length || end < at + 4) throw damaged('a segment is cut off');
  reading.at = end;
  keepSegment(reading, marker, file.subarray(at, end));
  return true;
}

function keepSegment(reading: Reading, marker: number, segment: Buffer): void {
  const data = segment.subarray(4);
  if (isMetadata(marker)) {
    if (marker === APP14) readAdobe(reading, data);
    return;
  }
  reading.kept.push(segment);
  if (marker === SOF0 || marker === SOF1 || marker === SOF2) readFrame(reading, data);
  else if (marker === DQT) checkTables(reading, data, quantizationLength);
  else if (marker === DHT) checkTables(reading, data, huffmanLength);
  else if (marker === SOS) readScan(reading, segment);
  else if (marker === DRI) checkLength(data, 2);
  else throw unsupported(marker);
}

function isMetadata(marker: number): boolean {
  return (marker >= APP0 && marker <= APP15) || marker === COM;
}

function readAdobe(reading: Reading, data: Buffer): void {
  if (data.toString('latin1', 0, 5) !== 'Adobe') return;
  const transform = data.readUInt8(11);
  if (transform > 1) throw new InvalidImage('Save the image in RGB, not in CMYK.');
  reading.adobeTransform = transform;
}

function unsupported(marker: number): InvalidImage {
  if (marker === DAC || (marker > 0xc2 && marker < 0xd0)) {
    return new InvalidImage('Save the image as a baseline or progressive JPEG, or as PNG.');
  }
  return damaged('it has an unknown part');
}

function readFrame(reading: Reading, data: Buffer): void {
  const components = data.readUInt8(5);
  if (components === 4) throw new InvalidImage('Save the image in RGB, not in CMYK.');
  if (reading.frame || data.readUInt8(0) !== 8 || ![1, 3].includes(components))
    throw damaged('its header is malformed');
  checkLength(data, 6 + 3 * components);
  reading.frame = { height: data.readUInt16BE(1), width: data.readUInt16BE(3) };
}

/** The entropy-coded data after the segment, up to the next marker that is neither a stuffed byte nor a restart. */
function readScan(reading: Reading, segment: Buffer): void {
  const { file } = reading;
  checkLength(segment, 8 + 2 * segment.readUInt8(4));
  reading.scans += 1;
  if (!reading.frame || reading.scans > MAX_SCANS) throw damaged('its scans are malformed');
  const start = reading.at;
  for (;;) {
    const marker = file.indexOf(0xff, reading.at);
    if (marker === -1) throw damaged('it is cut off');
    const next = file.readUInt8(marker + 1);
    const isData = next === 0 || (next >= 0xd0 && next <= 0xd7);
    reading.at = isData ? marker + 2 : marker;
    if (isData) continue;
    reading.kept.push(file.subarray(start, marker));
    return;
  }
}

/** A segment holds one or more tables, and nothing else. */
function checkTables(reading: Reading, data: Buffer, lengthOf: (data: Buffer, at: number) => number): void {
  let at = 0;
  while (at < data.length) {
    at += lengthOf(data, at);
    reading.tables += 1;
  }
  if (at !== data.length || reading.tables > MAX_TABLES) throw damaged('its tables are malformed');
}

function quantizationLength(data: Buffer, at: number): number {
  return 1 + (data.readUInt8(at) >> 4 === 0 ? 64 : 128);
}

function huffmanLength(data: Buffer, at: number): number {
  const counts = data.subarray(at + 1, at + 17);
  return 17 + counts.reduce((sum, count) => sum + count, 0);
}

function checkLength(data: Buffer, length: number): void {
  if (data.length !== length) throw damaged('a segment is malformed');
}

function adobeSegment(transform: number): Buffer {
  return Buffer.from([0xff, 0xee, 0, 14, ...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, transform]);
}
