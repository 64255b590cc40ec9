import type { Image } from '../lib/images.ts';
import { sha256 } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';

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
export async function findLogo(db: Database, hash: string): Promise<Pick<Image, 'type' | 'bytes'> | undefined> {
  return db.selectFrom('app_logos').select(['type', 'bytes']).where('hash', '=', hash).limit(1).executeTakeFirst();
}
