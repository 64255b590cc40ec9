import { HOUR } from '../src/lib/clock.ts';
import { createKeyring } from '../src/lib/keyring.ts';
import { encodeToken, NO_SCOPE_BITS, scopeBitsOf, type TokenKind } from '../src/oauth/tokens.ts';
import type { ConnectedApp, Contender, RunningServer } from './contender.ts';
import { addRequests, type Gatehouse, startGatehouse } from './contenders/gatehouse.ts';
import { GRANTS_PER_USER, grantAt, ledgerGrantOf, userOf } from './fill.ts';
import type { FilledDatabase } from './filling.ts';
import { SCOPE, SECRET_KEY, type Seed, type SeededUser } from './seed.ts';

/** A refresh token with a later rotation than its row is accepted, so tokens can be created without reading the row. */
const ROTATIONS_APART = 64;

/** Gatehouse on a database of one size. */
export function contenderOfSize({ url, grants, seeded }: FilledDatabase, needsBothCores: boolean): Contender {
  return {
    name: String(grants),
    title: `with ${grants.toLocaleString('en-GB')} grants`,
    needsBothCores,
    isPeer: false,
    start: async () => createGrownServer(await startGatehouse(url), seeded, grants),
  };
}

/** Picks users and grants at random from the whole database. */
export function createGrownServer(server: Gatehouse, seeded: Seed, grants: number): RunningServer {
  const original = addRequests(server, seeded);
  const userCount = Math.ceil(grants / GRANTS_PER_USER);
  const { users } = seeded;
  const pickUsers = (count: number) => distinct(count, userCount).map((user) => ({ user, index: 0 }));
  const pickUsersWithInvoices = (count: number) =>
    distinct(count, users.length).map((index) => ({
      user: userOf((users[index] as SeededUser).business ?? 0),
      index,
    }));
  const pickFrom = (choose: typeof pickUsers) => (count: number) => {
    rotation += ROTATIONS_APART;
    return choose(count).map(({ user, index }) => connected(ledgerGrantOf(user), index));
  };
  let rotation = ROTATIONS_APART;
  const connected = (grant: number, index: number): ConnectedApp => ({
    visitor: { index, cookie: '' },
    tokens: { access: createToken('access', grant, rotation), refresh: createToken('refresh', grant, rotation) },
  });

  const signIn: RunningServer['signIn'] = (client) => original.signIn(client, Math.floor(random() * users.length));
  const grown: RunningServer = { ...original, signIn, pick: pickFrom(pickUsers) };
  const withInvoices: RunningServer = { ...grown, pick: pickFrom(pickUsersWithInvoices) };
  // Revoking needs new grants for each batch.
  const withNewGrants: RunningServer = { ...grown, pick: undefined };
  const overrides: Record<string, RunningServer> = { call: withInvoices, revoke: withNewGrants };
  return { ...grown, forScenario: (scenario) => overrides[scenario] ?? grown };
}

/** Existing connections of different users, whose invoices are not known. */
export function pickConnected(count: number, grants: number): ConnectedApp[] {
  return distinct(count, Math.ceil(grants / GRANTS_PER_USER)).map((user) => ({
    visitor: { index: 0, cookie: '' },
    tokens: {
      access: createToken('access', ledgerGrantOf(user), ROTATIONS_APART),
      refresh: createToken('refresh', ledgerGrantOf(user), ROTATIONS_APART),
    },
  }));
}

const keys = createKeyring([SECRET_KEY]);
const scopeBits = scopeBitsOf([SCOPE], [SCOPE]);

function createToken(kind: TokenKind, grant: number, rotation: number): string {
  const { id: grantId, salt } = grantAt(grant);
  const expiresAt = Date.now() + HOUR;
  return encodeToken(keys, salt, {
    kind,
    grantId,
    rotation,
    expiresAt,
    scopeBits: kind === 'access' ? scopeBits : NO_SCOPE_BITS,
  });
}

/** Distinct random numbers below a limit. */
function distinct(count: number, below: number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < Math.min(count, below)) chosen.add(Math.floor(random() * below));
  return [...chosen];
}

/** With a fixed seed (xorshift). */
let state = 0x2545f491;
function random(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 0x1_0000_0000;
}
