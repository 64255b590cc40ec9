import { hash, randomUUID } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** In bytes. */
const LENGTH = 16;

/** 26 bits, before the random bits: more ids than can be created in a millisecond. */
const MAX_SEQUENCE = 0x3ff_ffff;

/**
 * How many ids were created per millisecond. A request that began earlier may create its id later. Two maps: when the
 * recent one is full, the older one is dropped. Deleting single entries of one map would leave gaps that V8 walks over.
 */
let recent = new Map<number, number>();
let older = new Map<number, number>();
const MAX_TRACKED = 10_000;

/**
 * A UUIDv7 (RFC 9562 §5.7) of the given time: new rows are adjacent in the index. Node's `randomUUIDv7` uses the system
 * clock, and does not order ids of the same millisecond.
 */
export function newId(now: number): string {
  const sequence = nextSequence(now);
  const time = now.toString(16).padStart(12, '0');
  const [version, variant] = [0x7000 | (sequence >> 14), 0x8000 | (sequence & 0x3fff)];
  const random = randomUUID().slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version.toString(16)}-${variant.toString(16)}-${random}`;
}

/** The time of a UUIDv7; undefined for any other id. */
export function timeOfId(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}

/** The smallest id of this time. */
export function firstIdAt(time: number): string {
  const digits = Math.max(0, time).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`;
}

function nextSequence(now: number): number {
  const before = recent.get(now) ?? older.get(now) ?? 0;
  if (recent.size === MAX_TRACKED && !recent.has(now)) [recent, older] = [new Map(), recent];
  recent.set(now, (before + 1) & MAX_SEQUENCE);
  return before;
}

/** The id of a copy: the same for the same id and owner, and in the same order as the originals. */
export function copyId(id: string, owner: string): string {
  return id.slice(0, 24) + hash('sha256', `${owner} ${id}`).slice(0, 12);
}

/** A UUIDv8 (RFC 9562 §5.8): the same for the same text. */
export function derivedId(text: string): string {
  const bytes = hash('sha256', text, 'buffer');
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return readId(bytes);
}

/** For ids that are never sorted. */
export function newRandomId(): string {
  return randomUUID();
}

/** Lower case only, as stored: SQLite compares ids case-sensitively, PostgreSQL does not. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

export function idToBytes(id: string): Buffer {
  const bytes = Buffer.alloc(LENGTH);
  writeId(id, bytes, 0);
  return bytes;
}

export function writeId(id: string, bytes: Buffer, offset: number): void {
  const written = bytes.write(id.replaceAll('-', ''), offset, LENGTH, 'hex');
  if (written !== LENGTH) throw new Error('This is not an id.');
}

export function readId(bytes: Buffer, offset = 0): string {
  const hex = bytes.toString('hex', offset, offset + LENGTH);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
