import { grantIdIn } from '../../support/rows.ts';
import { type ApiClient, retryUntilAvailable, type TimedResponse } from './api-client.ts';
import { isLive, type Journal, type KnownSecret, type Lineage, newest } from './journal.ts';

type Broken = string[];

/**
 * Compares the journal with the server: all active grants, and those that ended since
 * the last check; or all. Responses to these checks are recorded in the journal, too.
 */
export async function findBroken(
  asker: ApiClient,
  journal: Journal,
  which: 'recent' | 'all' = 'recent',
): Promise<Broken> {
  const isDue = (thing: { isChecked?: boolean }) => which === 'all' || !thing.isChecked;
  const broken: Broken = [];
  await inParallel(journal.lineages.filter(isDue), async (lineage) => {
    broken.push(...(await findBrokenIn(asker, journal, lineage)));
  });
  await inParallel(journal.secrets.filter(isDue), async (secret) => {
    broken.push(...(await findBrokenSecret(asker, secret)));
  });
  return [...journal.wrong, ...broken];
}

async function findBrokenIn(asker: ApiClient, journal: Journal, lineage: Lineage): Promise<Broken> {
  const findings = lineage.firm.isDisabled
    ? await stopped(asker, lineage)
    : isLive(lineage)
      ? await alive(asker, journal, lineage)
      : lineage.endedBy
        ? await dead(asker, lineage)
        : await exchangeable(asker, journal, lineage);
  for (const token of lineage.revokedAccess) {
    findings.push(...expect('a revoked access token', await retryUntilAvailable(() => asker.use(token)), 401));
  }
  lineage.isChecked = lineage.endedBy !== undefined;
  const grant = grantIdIn(lineage.code);
  return findings.map((finding) => `${finding}, of the grant ${grant}:\n  ${journal.about(grant)}`);
}

/** Its newest tokens work, and can be refreshed. */
async function alive(asker: ApiClient, journal: Journal, lineage: Lineage): Promise<Broken> {
  const { access_token, refresh_token } = newest(lineage);
  const used = await retryUntilAvailable(() => asker.use(access_token));
  const refreshed = await retryUntilAvailable(() => asker.refresh(lineage.firm.app, refresh_token));
  if (journal.write('refresh after', grantIdIn(lineage.code), refreshed)) lineage.pairs.push(refreshed.body);
  const expected = lineage.revokedAccess.has(access_token) ? 401 : 200;
  return [...expect('the newest access token', used, expected), ...expect('the newest refresh token', refreshed, 200)];
}

/** No token of an ended grant works. */
async function dead(asker: ApiClient, lineage: Lineage): Promise<Broken> {
  const findings: Broken = [];
  for (const { access_token, refresh_token } of lineage.pairs.slice(-2)) {
    const what = lineage.endedBy ?? '';
    findings.push(
      ...expect(`an access token (${what})`, await retryUntilAvailable(() => asker.use(access_token)), 401),
    );
    const refreshed = await retryUntilAvailable(() => asker.refresh(lineage.firm.app, refresh_token));
    findings.push(...expect(`a refresh token (${what})`, refreshed, 400));
  }
  if (lineage.pairs.length > 0) return findings;
  const exchanged = await retryUntilAvailable(() => asker.exchange(lineage.firm.app, lineage.code));
  return expect(`a code (${lineage.endedBy})`, exchanged, 400);
}

/** The app is disabled: no token of it works, and none is issued. */
async function stopped(asker: ApiClient, lineage: Lineage): Promise<Broken> {
  const [pair] = lineage.pairs.slice(-1);
  if (!pair) return [];
  const used = await retryUntilAvailable(() => asker.use(pair.access_token));
  const refreshed = await retryUntilAvailable(() => asker.refresh(lineage.firm.app, pair.refresh_token));
  return [
    ...expect('an access token of a disabled app', used, 401),
    ...expect('a refresh token of a disabled app', refreshed, 400, 401),
  ];
}

/** An acknowledged Allow is not lost, either. */
async function exchangeable(asker: ApiClient, journal: Journal, lineage: Lineage): Promise<Broken> {
  const heard = await retryUntilAvailable(() => asker.exchange(lineage.firm.app, lineage.code));
  if (journal.write('exchange after', grantIdIn(lineage.code), heard)) lineage.pairs.push(heard.body);
  return expect('a code that nobody has used', heard, 200);
}

async function findBrokenSecret(asker: ApiClient, secret: KnownSecret): Promise<Broken> {
  const heard = await retryUntilAvailable(() => asker.introspect(secret, 'whatever'));
  secret.isChecked = !secret.works;
  return expect(secret.works ? 'a secret' : 'a removed secret', heard, secret.works ? 200 : 401);
}

/**
 * Every grant has one chain of rotations: each spent refresh token gave the same successor, and an old
 * one, or the code, ends the grant. No grant is active after this.
 */
export async function findForks(asker: ApiClient, { lineages }: Journal): Promise<Broken> {
  const broken: Broken = [];
  await inParallel(
    lineages.filter((lineage) => isLive(lineage) && !lineage.firm.isDisabled),
    async (lineage) => {
      const { app } = lineage.firm;
      const [first] = lineage.pairs;
      const isOld = lineage.pairs.length > 2 && first;
      const replay = isOld ? () => asker.refresh(app, first.refresh_token) : () => asker.exchange(app, lineage.code);
      broken.push(...expect('something spent', await retryUntilAvailable(replay), 400));
      lineage.endedBy = 'replay';
      broken.push(...(await dead(asker, lineage)));
    },
  );
  const given = lineages.flatMap(({ pairs }) => pairs.map(({ refresh_token }) => refresh_token));
  if (new Set(given).size !== given.length) broken.push('one refresh token was handed out twice');
  return broken;
}

function expect(what: string, { status, body }: TimedResponse, ...expected: number[]): Broken {
  if (expected.includes(status)) return [];
  return [`${what} is answered with ${status}, not ${expected.join(' or ')}: ${JSON.stringify(body).slice(0, 200)}`];
}

const AT_ONCE = 20;

async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
