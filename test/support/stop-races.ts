import { insertSession } from '../../src/accounts/sessions.ts';
import { type User, userActor } from '../../src/accounts/users.ts';
import { deleteApp } from '../../src/apps/apps.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { resetAccount } from '../../src/grants/account-reset.ts';
import { blockApp } from '../../src/grants/app-approvals.ts';
import { endTokensOfApp } from '../../src/grants/app-tokens.ts';
import { disconnect } from '../../src/grants/connections.ts';
import { saveConsent } from '../../src/grants/consents.ts';
import { findGrant } from '../../src/grants/grants.ts';
import { removeMember } from '../../src/grants/member-changes.ts';
import { disableApp, disableUser, pauseApp } from '../../src/grants/suspension.ts';
import { newId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { findPermission } from '../../src/oauth/authorize/permission.ts';
import { issueCode } from '../../src/oauth/authorize/response.ts';
import { issueCodeSilently } from '../../src/oauth/authorize/silent.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';
import { EXTERNAL_BOUNDS, requestInvoices } from './authorization-requests.ts';
import type { createFixtures, RegisteredApp } from './fixtures.ts';

const ALLOWED = { allowed: ['read:invoices'], declined: [], expiresAt: null };
const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);

interface Connected {
  app: RegisteredApp;
  user: User;
  businessId: string;
}

export interface StopKind {
  what: string;
  stop(tx: Database, connected: Connected): Promise<unknown>;
  /** What creates an active grant if it comes after the stop. */
  permits?: readonly Way[];
}

type Way = 'an Allow' | 'a silent authorization';

/** Everything that stops more than one grant. */
export const STOP_KINDS: StopKind[] = [
  {
    what: 'a pause of the app',
    stop: (tx, { app }) => pauseApp(OPERATOR, tx, { app }, Date.now()),
  },
  { what: 'disabling the app', stop: (tx, { app }) => disableApp(OPERATOR, tx, app, Date.now()) },
  { what: 'deleting the app', stop: (tx, { app }) => deleteApp(OPERATOR, tx, app, Date.now()) },
  {
    what: 'disabling the user',
    stop: (tx, { user }) => disableUser(OPERATOR, tx, { user }, Date.now()),
  },
  {
    what: 'removing the member',
    stop: (tx, { user, businessId }) => removeMember(OPERATOR, tx, { userId: user.id, businessId }, Date.now()),
  },
  {
    what: 'blocking the app',
    stop: (tx, { app, businessId }) => blockApp(OPERATOR, tx, { app, businessId, reason: '' }, Date.now()),
  },
  {
    what: 'disconnecting the app for everyone',
    stop: (tx, { app, businessId }) => disconnect(OPERATOR, tx, { app, businessId }, Date.now()),
    permits: ['an Allow'],
  },
  {
    what: 'a password reset',
    stop: (tx, { user }) => resetAccount(tx, { userId: user.id, hash: 'another', endsGrants: true }, Date.now()),
  },
  {
    what: 'the end of every token of the app',
    stop: (tx, { app }) => endTokensOfApp(OPERATOR, tx, app, Date.now()),
    permits: ['an Allow', 'a silent authorization'],
  },
];

/** Users with a session, each about to authorize a new app that they have allowed before. */
export function createAuthorizations(
  storage: Storage,
  { acme, addApp, addUser }: Awaited<ReturnType<typeof createFixtures>>,
) {
  const db = storage.durable;
  let users = 0;

  return async () => {
    const app = await addApp({ ownerBusinessId: acme.id });
    users += 1;
    const user = await addUser(`Racer${users}`, [[acme, 'member']]);
    const connected = { app, user, businessId: acme.id };
    await storage.transaction((tx) =>
      saveConsent(tx, { userId: user.id, appId: app.id, businessId: acme.id }, ALLOWED, Date.now()),
    );
    const from = { user, browser: 'A test', address: '127.0.0.1' };
    const { id: sessionId } = await insertSession(db, from, Date.now());
    const request = await requestInvoices({ storage, keys }, app);
    const { rules } = await findPermission(db, { request, userId: user.id, businessId: acme.id });
    const [actor, grants] = [userActor(user, '127.0.0.1'), [] as string[]];
    const begin = () => {
      const grantId = newId(Date.now());
      grants.push(grantId);
      return { request, grantId, sessionId, businessId: acme.id };
    };
    return {
      connected,
      /** The user clicks Allow on the consent screen. */
      allow: () =>
        issueCode(
          actor,
          { db, keys, bounds: EXTERNAL_BOUNDS },
          { ...begin(), decision: ALLOWED, shown: ALLOWED.allowed },
          Date.now(),
        ),
      /** The browser arrives with what was read before a race. Without rules, a transaction decides. */
      authorizeSilently: (decider: 'statement' | 'transaction') =>
        issueCodeSilently(
          actor,
          { db, keys },
          { ...begin(), consent: ALLOWED, rules: decider === 'statement' ? rules : undefined },
          Date.now(),
        ),
      /** Grants whose codes and tokens work. */
      async listActive(): Promise<string[]> {
        const found = await Promise.all(grants.map((grantId) => findGrant(db, { grantId, rotation: 0 }, Date.now())));
        return found.flatMap((grant) => (grant && grant.inactiveReason === null ? [grant.id] : []));
      },
    };
  };
}
