import { FormError } from '../lib/errors.ts';
import { fairQueue } from '../lib/fair-queue.ts';
import { type Image, InvalidImage, readImage } from '../lib/images.ts';
import { sha256 } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';

/** One file at a time in each process, because the threads that compress it also serve other requests. Businesses take turns. */
const joinReaders = fairQueue({ maxMembers: 4, counted: 'logos of this business at the same time' });

/** What `readImage` keeps of a file. */
export async function readLogo(
  file: Uint8Array,
  { ownerBusinessId }: { ownerBusinessId: string | null },
): Promise<Image> {
  const reader = joinReaders(ownerBusinessId ?? 'platform');
  try {
    return await reader.run(() => readImage(file));
  } catch (error) {
    throw error instanceof InvalidImage ? new FormError('logo', error.message) : error;
  } finally {
    reader.leave();
  }
}

/** Needs a transaction, and an app that is locked. Returns the hash of the logo, which is its address. */
export async function storeLogo(db: Database, appId: string, { type, bytes }: Image): Promise<string> {
  const logo = { hash: sha256(bytes), type, bytes };
  await db
    .insertInto('app_logos')
    .values({ app_id: appId, ...logo })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(logo))
    .execute();
  return logo.hash;
}

export async function removeLogo(db: Database, appId: string): Promise<void> {
  await db.deleteFrom('app_logos').where('app_id', '=', appId).execute();
}

/** Apps with the same logo share its address. */
export async function findLogo(db: Database, hash: string): Promise<Image | undefined> {
  return db.selectFrom('app_logos').select(['type', 'bytes']).where('hash', '=', hash).limit(1).executeTakeFirst();
}
