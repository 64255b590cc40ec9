import { hash } from 'node:crypto';

const BLOCK = 64;
const DIGEST = 32;
/** Longer messages are rare, and get room of their own. */
const USUAL_ROOM = 192;

/**
 * HMAC-SHA-256 (RFC 2104) with one key for many short messages. To set up the runtime's own for each of them takes about
 * twice as long as the two hashes of which it consists. What is hashed is laid out in the same place each time.
 */
export function newHmac(key: Uint8Array): (parts: Uint8Array[]) => Buffer {
  if (key.length > BLOCK) throw new Error('A key is at most one block long.');
  const [inner, outer] = [padded(key, 0x36, USUAL_ROOM), padded(key, 0x5c, DIGEST)];
  return (parts) => {
    const length = parts.reduce((sum, part) => sum + part.length, BLOCK);
    const message = length <= inner.length ? inner : padded(key, 0x36, length - BLOCK);
    let place = BLOCK;
    for (const part of parts) {
      message.set(part, place);
      place += part.length;
    }
    outer.write(sha256(message.subarray(0, length)), BLOCK, 'latin1');
    return Buffer.from(sha256(outer), 'latin1');
  };
}

/** A block of the key, and room behind it. */
function padded(key: Uint8Array, pad: number, room: number): Buffer {
  const block = Buffer.alloc(BLOCK + room).fill(pad, 0, BLOCK);
  key.forEach((byte, place) => {
    block[place] = byte ^ pad;
  });
  return block;
}

/** As text: a buffer of its own would cost the runtime more than the hash. */
function sha256(bytes: Buffer): string {
  return hash('sha256', bytes, 'latin1');
}
