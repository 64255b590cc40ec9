import { isId } from '../lib/ids.ts';
import { hashSecret, sameText } from '../lib/secrets.ts';
import { prepare } from '../storage/prepared.ts';
import type { Database } from '../storage/storage.ts';
import { useSecret } from './app-secrets.ts';
import type { App } from './apps.ts';

/** An app that sends a request: what has to be known of it to answer. */
export type CallingApp = Pick<App, 'id' | 'redirectUris'>;

/** Whether there is such an app, and whether the secret is one of its. */
interface ProvenApp {
  app: CallingApp;
  isProven: boolean;
}

/** An app and its secrets in one statement, as nearly every request of an app begins with it. */
export async function proveApp(
  db: Database,
  { clientId, secret }: { clientId: string; secret: string },
  now: number,
): Promise<ProvenApp | undefined> {
  const hash = hashSecret(secret);
  const { rows } = isId(clientId) ? await readWithSecrets(db, { appId: clientId }) : { rows: [] };
  const [found] = rows;
  if (!found) return undefined;
  const used = rows.find(({ secret_hash }) => secret_hash !== null && sameText(secret_hash, hash));
  if (used?.secret_id) await useSecret(db, { id: used.secret_id, lastUsedAt: used.secret_used_at }, now);
  return { app: { id: found.id, redirectUris: JSON.parse(found.redirect_uris) }, isProven: used !== undefined };
}

const readWithSecrets = prepare((db, { appId }: { appId: string }) =>
  db
    .selectFrom('apps')
    .leftJoin('app_secrets', 'app_secrets.app_id', 'apps.id')
    .select(['apps.id', 'apps.redirect_uris'])
    .select(['app_secrets.id as secret_id', 'app_secrets.secret_hash', 'app_secrets.last_used_at as secret_used_at'])
    .where('apps.id', '=', appId)
    .where('apps.deleted_at', 'is', null),
);
