import { argon2Sync } from 'node:crypto';

/** A password hash of the lowest cost. The server reads the cost from the hash, so checking it is fast, too. */
export function hashCheaply(password: string): string {
  const nonce = Buffer.alloc(16);
  const cost = { memory: 8, passes: 1, parallelism: 1 };
  const bytes = argon2Sync('argon2id', { ...cost, message: password, nonce, tagLength: 32 });
  return `$argon2id$v=19$m=8,t=1,p=1$${nonce.toString('base64url')}$${bytes.toString('base64url')}`;
}
