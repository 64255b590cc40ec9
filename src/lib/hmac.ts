import { hash } from 'node:crypto';

const BLOCK = 64;
const DIGEST = 32;
/** Longer messages are rare, and get room of their own. */
const USUAL_ROOM = 192;

/**
 * HMAC-SHA-256 (RFC 2104) with one key for many short messages. To set up the runtime's own for each of them takes about
 * twice as long as the two hashes of which it consists. What is hashed is laid out in the same place each time. Gives
 * a text of as many characters as there are bytes (latin1): a buffer of its own would cost the runtime more than the hash.
 */
export function newHmac(key: Uint8Array): (parts: Uint8Array[]) => string {
  if (key.length > BLOCK) throw new Error('A key is at most one block long.');
  const [inner, outer] = [padded(key, 0x36, USUAL_ROOM), padded(key, 0x5c, DIGEST)];
  // What is signed with one key is mostly of one length.
  let message = inner;
  return (parts) => {
    let length = BLOCK;
    for (const part of parts) length += part.length;
    if (length > inner.length) message = padded(key, 0x36, length - BLOCK);
    else if (length !== message.length) message = inner.subarray(0, length);
    let place = BLOCK;
    for (const part of parts) {
      message.set(part, place);
      place += part.length;
    }
    outer.write(sha256(message), BLOCK, 'latin1');
    return sha256(outer);
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

function sha256(bytes: Buffer): string {
  return hash('sha256', bytes, 'latin1');
}
