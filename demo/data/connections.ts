import type { User } from '../../src/accounts/users.ts';
import { listSecrets, useSecret } from '../../src/apps/secrets.ts';
import { type App, registerApp } from '../../src/apps/apps.ts';
import { recordAudit } from '../../src/audit/entries.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { saveConsent } from '../../src/grants/consents.ts';
import { createGrant, findGrant, markExchanged, rotate } from '../../src/grants/grants.ts';
import type { Database } from '../../src/storage/storage.ts';
import { addDemoHistory } from './history.ts';
import { personAt } from './people.ts';

const READ = ['read:invoices', 'read:contacts'];
const REGISTERED = 45 * DAY;
const LAST_REFRESH = 70 * MINUTE;

interface Connected {
  user: User;
  businessId: string;
  scopes: string[];
  /** How long ago it was allowed. */
  since: number;
  /** Of what the app reads. */
  share: number;
}

/** An app that people have connected long ago, so that there is something to see before the first click. */
export async function addDemoConnections(
  db: Database,
  { maker, ownerBusinessId, people }: { maker: User; ownerBusinessId: string; people: People },
  now: number,
): Promise<void> {
  const app = await registerParcelwise(
    db,
    { maker, ownerBusinessId, lastUsedAt: now - LAST_REFRESH },
    now - REGISTERED,
  );
  const connections: Connected[] = [
    { ...people.maker, scopes: READ, since: REGISTERED - HOUR, share: 0.2 },
    { ...people.owner, scopes: [...READ, 'write:invoices'], since: 40 * DAY, share: 0.5 },
    { ...people.member, scopes: READ, since: 33 * DAY, share: 0.3 },
  ];
  for (const connection of connections) await connect(db, app, connection, now);
  const busy = connections.map(({ user, businessId, share }) => ({
    appId: app.id,
    userId: user.id,
    businessId,
    share,
  }));
  await addDemoHistory(db, busy, now);
}

type Person = Pick<Connected, 'user' | 'businessId'>;
type People = Record<'maker' | 'owner' | 'member', Person>;

async function registerParcelwise(
  db: Database,
  { maker, ownerBusinessId, lastUsedAt }: { maker: User; ownerBusinessId: string; lastUsedAt: number },
  at: number,
): Promise<App> {
  const settings = {
    name: 'Parcelwise',
    redirectUris: ['https://parcelwise.example/callback'],
    allowedScopes: [...READ, 'write:invoices'],
    openToAnyBusiness: true,
    requiresPkce: true,
  };
  const registered = await registerApp(personAt(maker), db, { ...settings, ownerBusinessId }, at);
  if (!registered) throw new Error('The demo app Parcelwise could not be registered.');
  for (const { id } of await listSecrets(db, registered.app.id)) await useSecret(db, id, lastUsedAt);
  return registered.app;
}

async function connect(db: Database, app: App, connection: Connected, now: number): Promise<void> {
  const { user, businessId, scopes, since } = connection;
  const at = now - since;
  const parties = { appId: app.id, userId: user.id, businessId };
  const id = newId(at);
  await createGrant(db, { id, ...parties, scopes, redirectUri: null, codeChallenge: null }, at);
  await saveConsent(db, parties, { allowed: scopes, declined: [] }, at);
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  const detail = { scope: scopes.join(' ') };
  await recordAudit(db, { action: 'grant.allowed', actor: personAt(user), businessId, subject, detail }, at);
  await markExchanged(db, id, at);
  const grant = await findGrant(db, { grantId: id, rotation: 0 });
  // Refreshed ever since, or it would have ended by now.
  if (grant) await rotate(db, { grant, spent: Math.floor(since / (2 * HOUR)) }, now - LAST_REFRESH);
}
