import { HOUR } from '../src/lib/clock.ts';
import { createKeyring } from '../src/lib/keyring.ts';
import { encodeToken, NO_SCOPE_BITS, scopeBitsOf, type TokenKind } from '../src/oauth/tokens.ts';
import type { Connected, Contender, Running } from './contender.ts';
import { type Gatehouse, speakTo, startGatehouse } from './contenders/gatehouse.ts';
import { GRANTS_EACH, grantAt, ledgerGrantOf, userOf } from './fill.ts';
import type { Grown } from './filling.ts';
import { type Person, SCOPE, SECRET_KEY, type Seed } from './seed.ts';

/** A refresh token may be ahead of its row, so tokens of an ever later rotation need not know how far the row has come. */
const ROTATIONS_APART = 64;

/** Gatehouse on a database with so many grants in it, as one contender beside the other sizes. */
export function grownContender({ url, grants, seeded }: Grown, needsBothCores: boolean): Contender {
  return {
    name: String(grants),
    title: `with ${grants.toLocaleString('en-GB')} grants`,
    needsBothCores,
    isPeer: false,
    start: async () => speakToGrown(await startGatehouse(url), seeded, grants),
  };
}

/** Whom and what a scenario meets is anywhere in the database, not what was made a moment ago. */
export function speakToGrown(server: Gatehouse, seeded: Seed, grants: number): Running {
  const usual = speakTo(server, seeded);
  const users = Math.ceil(grants / GRANTS_EACH);
  const { people } = seeded;
  const anyone = (count: number) => distinct(count, users).map((user) => ({ user, place: 0 }));
  const anyoneWithInvoices = (count: number) =>
    distinct(count, people.length).map((place) => ({ user: userOf((people[place] as Person).business ?? 0), place }));
  const pickFrom = (choose: typeof anyone) => (count: number) => {
    rotation += ROTATIONS_APART;
    return choose(count).map(({ user, place }) => connected(ledgerGrantOf(user), place));
  };
  let rotation = ROTATIONS_APART;
  const connected = (grant: number, place: number): Connected => ({
    visitor: { place, cookie: '' },
    tokens: { access: seal('access', grant, rotation), refresh: seal('refresh', grant, rotation) },
  });

  const welcome: Running['welcome'] = (lane) => usual.welcome(lane, Math.floor(random() * people.length));
  const grown: Running = { ...usual, welcome, pick: pickFrom(anyone) };
  const withInvoices: Running = { ...grown, pick: pickFrom(anyoneWithInvoices) };
  // What is revoked is gone, so that is made anew each time.
  const withNew: Running = { ...grown, pick: undefined };
  const speeches: Record<string, Running> = { call: withInvoices, revoke: withNew };
  return { ...grown, speakFor: (scenario) => speeches[scenario] ?? grown };
}

const keys = createKeyring([SECRET_KEY]);
const scopeBits = scopeBitsOf([SCOPE], [SCOPE]);

function seal(kind: TokenKind, grant: number, rotation: number): string {
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

/** At most so many different numbers below a limit. */
function distinct(count: number, below: number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < Math.min(count, below)) chosen.add(Math.floor(random() * below));
  return [...chosen];
}

/** The same choices in every run (xorshift). */
let state = 0x2545f491;
function random(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 0x1_0000_0000;
}
