import { isId } from '../lib/ids.ts';
import { hashSecret, sameText } from '../lib/secrets.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { App } from './apps.ts';
import { useSecret } from './secrets.ts';

/** An app that sends a request: what has to be known of it to answer. */
export type AuthenticatedClient = Pick<App, 'id' | 'redirectUris'>;

/** Of `apps as caller` and `app_secrets`. */
export const CALLER_COLUMNS = [
  'caller.id as caller_id',
  'caller.redirect_uris as caller_redirect_uris',
  'app_secrets.id as secret_id',
  'app_secrets.secret_hash',
  'app_secrets.last_used_at as secret_used_at',
] as const;

/** Whether there is such an app, and whether the secret is one of its. */
interface ProvenApp {
  app: AuthenticatedClient;
  isProven: boolean;
}

/** An app with one of its secrets. */
export interface CallerRow {
  caller_id: string;
  caller_redirect_uris: string;
  secret_id: string | null;
  secret_hash: string | null;
  secret_used_at: number | null;
}

/** Finds an app, once with each of its secrets. */
export type ReadCaller = (db: Database, appId: string) => Promise<CallerRow[]>;

/** Undefined if there is no such app. That a secret was used is written down now and then. */
export async function verifyClient(
  { db, read = readCaller }: { db: Database; read?: ReadCaller | undefined },
  { clientId, secret }: { clientId: string; secret: string },
  now: number,
): Promise<ProvenApp | undefined> {
  const hash = hashSecret(secret);
  const rows = isId(clientId) ? await read(db, clientId) : [];
  const [found] = rows;
  if (!found) return undefined;
  const used = rows.find(({ secret_hash }) => secret_hash !== null && sameText(secret_hash, hash));
  if (used?.secret_id) await useSecret(db, { id: used.secret_id, lastUsedAt: used.secret_used_at }, now);
  const app = { id: found.caller_id, redirectUris: JSON.parse(found.caller_redirect_uris) };
  return { app, isProven: used !== undefined };
}

/** In one statement, as nearly every request of an app begins with it. */
export async function readCaller(db: Database, appId: string): Promise<CallerRow[]> {
  return (await readWithSecrets(db, { appId })).rows;
}

const readWithSecrets = preparedQuery((db, { appId }: { appId: string }) =>
  db
    .selectFrom('apps as caller')
    .leftJoin('app_secrets', 'app_secrets.app_id', 'caller.id')
    .select(CALLER_COLUMNS)
    .where('caller.id', '=', appId)
    .where('caller.deleted_at', 'is', null),
);
