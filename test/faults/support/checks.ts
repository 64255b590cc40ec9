import { grantIdIn } from '../../support/rows.ts';
import { type ApiClient, retryUntilAvailable, type TimedResponse } from './api-client.ts';
import { type GrantHistory, isLive, type Journal, type KnownSecret, newest } from './journal.ts';

type Broken = string[];

/**
 * Compares the journal with the server: all active grants, and those that ended since
 * the last check; or all. Responses to these checks are recorded in the journal, too.
 */
export async function findBroken(
  apiClient: ApiClient,
  journal: Journal,
  which: 'recent' | 'all' = 'recent',
): Promise<Broken> {
  const isDue = (thing: { isChecked?: boolean }) => which === 'all' || !thing.isChecked;
  const broken: Broken = [];
  await inParallel(journal.histories.filter(isDue), async (history) => {
    broken.push(...(await findBrokenIn(apiClient, journal, history)));
  });
  await inParallel(journal.secrets.filter(isDue), async (secret) => {
    broken.push(...(await findBrokenSecret(apiClient, secret)));
  });
  return [...journal.wrong, ...broken];
}

async function findBrokenIn(apiClient: ApiClient, journal: Journal, history: GrantHistory): Promise<Broken> {
  const findings = history.business.isDisabled
    ? await stopped(apiClient, history)
    : isLive(history)
      ? await alive(apiClient, journal, history)
      : history.endedBy
        ? await checkRevoked(apiClient, history)
        : await exchangeable(apiClient, journal, history);
  for (const token of history.revokedAccess) {
    findings.push(...expect('a revoked access token', await retryUntilAvailable(() => apiClient.use(token)), 401));
  }
  history.isChecked = history.endedBy !== undefined;
  const grant = grantIdIn(history.code);
  return findings.map((finding) => `${finding}, of the grant ${grant}:\n  ${journal.about(grant)}`);
}

/** Its newest tokens work, and can be refreshed. */
async function alive(apiClient: ApiClient, journal: Journal, history: GrantHistory): Promise<Broken> {
  const { access_token, refresh_token } = newest(history);
  const used = await retryUntilAvailable(() => apiClient.use(access_token));
  const refreshed = await retryUntilAvailable(() => apiClient.refresh(history.business.app, refresh_token));
  if (journal.write('refresh after', grantIdIn(history.code), refreshed)) history.pairs.push(refreshed.body);
  const expected = history.revokedAccess.has(access_token) ? 401 : 200;
  return [...expect('the newest access token', used, expected), ...expect('the newest refresh token', refreshed, 200)];
}

/** No token of an ended grant works. */
async function checkRevoked(apiClient: ApiClient, history: GrantHistory): Promise<Broken> {
  const findings: Broken = [];
  for (const { access_token, refresh_token } of history.pairs.slice(-2)) {
    const what = history.endedBy ?? '';
    findings.push(
      ...expect(`an access token (${what})`, await retryUntilAvailable(() => apiClient.use(access_token)), 401),
    );
    const refreshed = await retryUntilAvailable(() => apiClient.refresh(history.business.app, refresh_token));
    findings.push(...expect(`a refresh token (${what})`, refreshed, 400));
  }
  if (history.pairs.length > 0) return findings;
  const exchanged = await retryUntilAvailable(() => apiClient.exchange(history.business.app, history.code));
  return expect(`a code (${history.endedBy})`, exchanged, 400);
}

/** The app is disabled: no token of it works, and none is issued. */
async function stopped(apiClient: ApiClient, history: GrantHistory): Promise<Broken> {
  const [pair] = history.pairs.slice(-1);
  if (!pair) return [];
  const used = await retryUntilAvailable(() => apiClient.use(pair.access_token));
  const refreshed = await retryUntilAvailable(() => apiClient.refresh(history.business.app, pair.refresh_token));
  return [
    ...expect('an access token of a disabled app', used, 401),
    ...expect('a refresh token of a disabled app', refreshed, 400, 401),
  ];
}

/** An acknowledged Allow is not lost. */
async function exchangeable(apiClient: ApiClient, journal: Journal, history: GrantHistory): Promise<Broken> {
  const response = await retryUntilAvailable(() => apiClient.exchange(history.business.app, history.code));
  if (journal.write('exchange after', grantIdIn(history.code), response)) history.pairs.push(response.body);
  return expect('an unused code', response, 200);
}

async function findBrokenSecret(apiClient: ApiClient, secret: KnownSecret): Promise<Broken> {
  const response = await retryUntilAvailable(() => apiClient.introspect(secret, 'whatever'));
  secret.isChecked = !secret.works;
  return expect(secret.works ? 'a secret' : 'a removed secret', response, secret.works ? 200 : 401);
}

/**
 * Every grant has one chain of rotations: each spent refresh token gave the same successor, and an old
 * one, or the code, ends the grant. No grant is active after this.
 */
export async function findForks(apiClient: ApiClient, { histories }: Journal): Promise<Broken> {
  const broken: Broken = [];
  await inParallel(
    histories.filter((history) => isLive(history) && !history.business.isDisabled),
    async (history) => {
      const { app } = history.business;
      const [first] = history.pairs;
      const isOld = history.pairs.length > 2 && first;
      const replay = isOld
        ? () => apiClient.refresh(app, first.refresh_token)
        : () => apiClient.exchange(app, history.code);
      broken.push(...expect('something spent', await retryUntilAvailable(replay), 400));
      history.endedBy = 'replay';
      broken.push(...(await checkRevoked(apiClient, history)));
    },
  );
  const issued = histories.flatMap(({ pairs }) => pairs.map(({ refresh_token }) => refresh_token));
  if (new Set(issued).size !== issued.length) broken.push('one refresh token was issued twice');
  return broken;
}

function expect(what: string, { status, body }: TimedResponse, ...expected: number[]): Broken {
  if (expected.includes(status)) return [];
  return [`${what} got status ${status}, not ${expected.join(' or ')}: ${JSON.stringify(body).slice(0, 200)}`];
}

const AT_ONCE = 20;

async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
