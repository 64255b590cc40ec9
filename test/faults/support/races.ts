import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { Tokens } from '../../support/client.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { grantIdIn } from '../../support/rows.ts';
import { type Repeated, repeatUnavailable } from '../../support/unavailable.ts';
import { type ApiClient, retryUntilAvailable, type TimedResponse } from './api-client.ts';
import type { Person } from './businesses.ts';
import type { Ending, Parties } from './endings.ts';

const ENDERS = 5;
const CODES = 3;

export const statuses = (responses: TimedResponse[]) => responses.map(({ status }) => status).join(' ');
export const count = (responses: TimedResponse[], status: number) =>
  responses.filter((response) => response.status === status).length;

export type Request = () => Promise<TimedResponse | undefined>;

/** The number of requests that got a 503. */
export const unavailable = { count: 0 };

/** Sends all at once. Each must get a response; those that get a 503 are repeated. */
export async function race(requests: Request[]): Promise<Repeated<TimedResponse>[]> {
  return Promise.all(requests.map(sendUntilAvailable));
}

async function sendUntilAvailable(request: Request): Promise<Repeated<TimedResponse>> {
  const response = await repeatUnavailable(async () => {
    const received = await request();
    assert.ok(received, 'every request gets a response');
    return received;
  });
  unavailable.count += response.repeats;
  return response;
}

interface ForApp {
  apiClient: ApiClient;
  app: RegisteredApp;
}

export async function allow({ apiClient, app }: ForApp, { browser }: Person): Promise<string> {
  return retryUntilAvailable(async () => {
    const page = await browser.open(apiClient.authorizeUrl(app));
    const response = page.status === 200 ? await browser.submit(page, '/consent', { decision: 'allow' }) : page;
    return response.leftTo?.searchParams.get('code') ?? undefined;
  });
}

export async function connect({ apiClient, app }: ForApp, person: Person): Promise<Tokens> {
  const code = await allow({ apiClient, app }, person);
  const response = await sendUntilAvailable(() => apiClient.exchange(app, code));
  // The request that got a 503 may have used the code.
  if (response.status === 400 && response.repeats > 0) return connect({ apiClient, app }, person);
  assert.equal(response.status, 200, describe(response));
  return response.body;
}

/** Concurrent refreshes of one token, exchanges of codes, and requests that end the grants. Returns the failures. */
export async function raceAgainst(parties: Parties, ending: Ending, ways: number): Promise<string[]> {
  const { apiClient, app, member } = parties;
  const [first, ...codes] = await Promise.all([
    connect(parties, member),
    ...Array.from({ length: CODES }, () => allow(parties, member)),
  ]);
  const requests = [
    ...codes.map((code) => () => apiClient.exchange(app, code)),
    ...Array.from({ length: ENDERS }, () => () => ending.end(parties, first)),
    ...Array.from({ length: ways - ENDERS - CODES }, () => () => apiClient.refresh(app, first.refresh_token)),
  ];

  const responses = await race(shuffle(requests));

  const expected = [200, 303, 400, 401, ...(ending.tooLate ?? [])];
  const wrong = responses.filter(({ status }) => !expected.includes(status)).map(describe);
  const issued = distinct([
    first,
    ...responses.map(({ body }) => body as Tokens).filter(({ access_token }) => access_token),
  ]);
  const ended = issued.filter(({ access_token }) => !ending.endsOne || isOf(first, access_token));
  const alive = await findAlive(parties, ended);
  await ending.undo?.(parties);
  // The first pair, and the one pair that all refreshes in time received.
  const lines = issued.filter(({ access_token }) => isOf(first, access_token)).length;
  const forks = lines > 2 ? [`${lines} pairs of one grant`] : [];
  return [...wrong, ...alive, ...forks, ...(ending.isPause ? await findLost(parties, first, issued) : [])];
}

const isOf = ({ access_token }: Tokens, token: string) => grantIdIn(token) === grantIdIn(access_token);

function distinct(pairs: Tokens[]): Tokens[] {
  return [...new Map(pairs.map((pair) => [pair.refresh_token, pair])).values()];
}

async function findAlive({ apiClient, app }: Parties, pairs: Tokens[]): Promise<string[]> {
  const used = pairs.map(
    ({ access_token }) =>
      () =>
        apiClient.use(access_token),
  );
  const refreshed = pairs.map(
    ({ refresh_token }) =>
      () =>
        apiClient.refresh(app, refresh_token),
  );
  const responses = await race([...used, ...refreshed]);
  return responses
    .filter(({ status }) => ![400, 401].includes(status))
    .map((response) => `alive: ${describe(response)}`);
}

/** After a pause the newest pair works again, and a spent token is a replay. */
async function findLost({ apiClient, app }: Parties, first: Tokens, issued: Tokens[]): Promise<string[]> {
  const newest = issued.findLast(({ access_token }) => isOf(first, access_token)) ?? first;
  const used = await sendUntilAvailable(() => apiClient.use(newest.access_token));
  const refreshed = await sendUntilAvailable(() => apiClient.refresh(app, newest.refresh_token));
  const lost = [used, refreshed]
    .filter(({ status }) => status !== 200)
    .map((response) => `lost: ${describe(response)}`);
  if (newest === first) return lost;
  const replayed = await sendUntilAvailable(() => apiClient.refresh(app, first.refresh_token));
  return replayed.status === 200 ? [...lost, 'a spent token still works'] : lost;
}

function describe({ status, body }: TimedResponse): string {
  return `${status} ${JSON.stringify(body).slice(0, 200)}`;
}

function shuffle<Item>(items: Item[]): Item[] {
  return items
    .map((item) => ({ item, order: randomInt(1_000_000) }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
