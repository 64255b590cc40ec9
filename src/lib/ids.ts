import { randomUUID } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** In bytes. */
const LENGTH = 16;

/** 26 bits of it stand before what is random: more ids than could be made in a millisecond. */
const LONGEST_SEQUENCE = 0x3ff_ffff;

/** How many were made in each of the last few milliseconds: a request that began earlier may come late. */
const made = new Map<number, number>();
const REMEMBERED = 100;

/**
 * A UUIDv7 (RFC 9562 §5.7) of the given time, so that new rows stay together on disk. The runtime's own
 * `randomUUIDv7` knows only the real clock, and does not order ids made within one millisecond.
 */
export function newId(now: number): string {
  const sequence = nextIn(now);
  const time = now.toString(16).padStart(12, '0');
  const [version, variant] = [0x7000 | (sequence >> 14), 0x8000 | (sequence & 0x3fff)];
  const random = randomUUID().slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version.toString(16)}-${variant.toString(16)}-${random}`;
}

/** No id of this time or later is smaller. */
export function firstIdAt(time: number): string {
  const digits = Math.max(0, time).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`;
}

function nextIn(now: number): number {
  const before = made.get(now) ?? 0;
  // The one that was used last is forgotten last.
  made.delete(now);
  made.set(now, (before + 1) & LONGEST_SEQUENCE);
  const [first] = made.keys();
  if (made.size > REMEMBERED && first !== undefined) made.delete(first);
  return before;
}

/** For what is never sorted. */
export function newRandomId(): string {
  return randomUUID();
}

/** In lower case, as they are stored: databases differ in whether they would find one in capitals. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

export function idToBytes(id: string): Buffer {
  const bytes = Buffer.alloc(LENGTH);
  writeId(id, bytes, 0);
  return bytes;
}

export function writeId(id: string, bytes: Buffer, place: number): void {
  const written = bytes.write(id.replaceAll('-', ''), place, LENGTH, 'hex');
  if (written !== LENGTH) throw new Error('This is not an id.');
}

export function readId(bytes: Buffer, place = 0): string {
  const hex = bytes.toString('hex', place, place + LENGTH);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
