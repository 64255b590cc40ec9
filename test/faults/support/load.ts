import { randomInt } from 'node:crypto';
import { inspect } from 'node:util';
import { registerInBrowser, shownCredentials } from '../../support/app-pages.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { grantIdIn } from '../../support/rows.ts';
import { type ApiClient, retryUntilAvailable } from './api-client.ts';
import { fetchCsrf, type Person, post, type TestBusiness } from './businesses.ts';
import type { Gate } from './gate.ts';
import { type GrantHistory, isLive, type Journal, newest } from './journal.ts';

interface Work {
  business: TestBusiness;
  journal: Journal;
  apiClient: ApiClient;
}

const MAX_LIVE = 6;

const developerPath = ({ businessId }: TestBusiness) => `/businesses/${businessId}/developer`;

/** Random activity of a business, during faults of the server. */
export async function runLoad(work: Work, gate: Gate): Promise<void> {
  await fetchCsrf(work.business.owner);
  await fetchCsrf(work.business.member);
  while (await gate.mayContinue()) {
    await choose(work)(work).catch((error) => work.journal.wrong.push(inspect(error)));
  }
}

/** A frequent step is listed several times. */
const STEPS: [times: number, step: (work: Work) => Promise<void>][] = [
  [6, connectOwner],
  [12, refreshOne],
  [3, revokeOne],
  [3, revokeAccess],
  [1, leaveCode],
  [1, disconnect],
  [1, disable],
  [1, addAndRemoveMember],
  [1, registerApp],
];
const STEPS_BY_FREQUENCY = STEPS.flatMap(([times, step]) => Array.from({ length: times }, () => step));

function choose({ business, journal }: Work): (work: Work) => Promise<void> {
  if (business.isDisabled) return enable;
  const step = STEPS_BY_FREQUENCY[randomInt(STEPS_BY_FREQUENCY.length)] ?? refreshOne;
  const live = liveOf(journal, business).length;
  if (live === 0) return connectOwner;
  return step === connectOwner && live >= MAX_LIVE ? revokeOne : step;
}

const liveOf = ({ histories }: Journal, business: TestBusiness) =>
  histories.filter((history) => history.business === business && isLive(history));

function oneOf(items: GrantHistory[]): GrantHistory {
  return items[randomInt(items.length)] as GrantHistory;
}

async function allow({ business, apiClient }: Work, { browser }: Person): Promise<GrantHistory> {
  const code = await retryUntilAvailable(async () => {
    const page = await browser.open(apiClient.authorizeUrl(business.app));
    const response = page.status === 200 ? await browser.submit(page, '/consent', { decision: 'allow' }) : page;
    return response.leftTo?.searchParams.get('code') ?? undefined;
  });
  return { business, code, pairs: [], revokedAccess: new Set() };
}

async function leaveCode(work: Work): Promise<void> {
  work.journal.histories.push(await allow(work, work.business.owner));
}

async function connectOwner(work: Work): Promise<void> {
  await connect(work, work.business.owner);
}

async function connect(work: Work, person: Person): Promise<GrantHistory | undefined> {
  const { business, journal, apiClient } = work;
  const history = await allow(work, person);
  const grant = grantIdIn(history.code);
  let tries = 0;
  const response = await retryUntilAvailable(() => {
    tries += 1;
    return apiClient.exchange(business.app, history.code);
  });
  // An exchange without a response may have succeeded. The retry then used the code a second time.
  if (!journal.write('exchange', grant, response, ...(tries > 1 ? [400] : []))) return undefined;
  history.pairs.push(response.body);
  journal.histories.push(history);
  return history;
}

async function refreshOne({ business, journal, apiClient }: Work): Promise<void> {
  const history = oneOf(liveOf(journal, business));
  const response = await retryUntilAvailable(() => apiClient.refresh(business.app, newest(history).refresh_token));
  if (journal.write('refresh', grantIdIn(history.code), response)) history.pairs.push(response.body);
}

async function revokeOne({ business, journal, apiClient }: Work): Promise<void> {
  const history = oneOf(liveOf(journal, business));
  const response = await retryUntilAvailable(() => apiClient.revoke(newest(history).refresh_token));
  if (journal.write('revoke', grantIdIn(history.code), response)) history.endedBy = 'revoked_by_app';
}

async function revokeAccess({ business, journal, apiClient }: Work): Promise<void> {
  const history = oneOf(liveOf(journal, business));
  const { access_token } = newest(history);
  const response = await retryUntilAvailable(() => apiClient.revoke(access_token));
  if (journal.write('revoke access', grantIdIn(history.code), response)) history.revokedAccess.add(access_token);
}

/** Ends all grants of the owner. */
async function disconnect({ business, journal }: Work): Promise<void> {
  const { owner, app, businessId } = business;
  const path = `/businesses/${businessId}/connected-apps/disconnect`;
  const response = await retryUntilAvailable(() => post(owner, path, { app: app.id }));
  if (!journal.write('disconnect', app.id, response)) return;
  for (const history of journal.histories)
    if (history.business === business) history.endedBy ??= 'disconnected_by_user';
}

async function disable({ business, journal }: Work): Promise<void> {
  const response = await retryUntilAvailable(() =>
    post(business.owner, `${developerPath(business)}/${business.app.id}/disable`),
  );
  if (journal.write('disable', business.app.id, response)) business.isDisabled = true;
}

async function enable({ business, journal }: Work): Promise<void> {
  const response = await retryUntilAvailable(() =>
    post(business.owner, `${developerPath(business)}/${business.app.id}/enable`),
  );
  if (journal.write('enable', business.app.id, response)) business.isDisabled = false;
}

/** Invites a user, who joins, connects the app and is removed. */
async function addAndRemoveMember(work: Work): Promise<void> {
  const { business, journal } = work;
  const { owner, member, businessId } = business;
  const link = await retryUntilAvailable(() => inviteInBrowser(owner.browser, { email: member.user.email }));
  let attempts = 0;
  const joined = await retryUntilAvailable(() => {
    attempts += 1;
    return post(member, link);
  });
  // After an attempt without a response, the link may have been used.
  const isUsed = attempts > 1 && joined.status === 410;
  if (!journal.write('join', member.user.id, joined, ...(isUsed ? [410] : [])) && !isUsed) return;
  const history = await connect(work, member);
  const path = `/businesses/${businessId}/members/${member.user.id}/remove`;
  let tries = 0;
  const removed = await retryUntilAvailable(() => {
    tries += 1;
    return post(owner, path);
  });
  // A removal without a response may have succeeded.
  journal.write('remove', member.user.id, removed, ...(tries > 1 ? [404] : []));
  if (history) history.endedBy = 'member_removed';
}

/** Registers an app, adds a secret and removes the first; gives up if the state is unknown. */
async function registerApp({ business, journal }: Work): Promise<void> {
  const { owner } = business;
  const began = Date.now();
  const shown = await registerInBrowser(owner.browser, developerPath(business)).catch(() => undefined);
  if (shown?.status !== 200) return;
  const first = { ...shownCredentials(shown), works: true };
  journal.secrets.push(first);
  journal.write('register', first.id, { status: 200, body: '', began, ended: Date.now() });
  const added = await post(owner, `${developerPath(business)}/${first.id}/secrets`).catch(() => undefined);
  if (added?.status !== 200) return;
  const second = { ...shownCredentials({ ...shown, text: added.body }), works: true };
  journal.secrets.push(second);
  journal.write('add secret', first.id, added);
  const { text } = await retryUntilAvailable(() => owner.browser.open(`${developerPath(business)}/${first.id}`));
  const row = text.split('<li>').find((each) => each.includes(`…${first.secret.slice(-4)}</code>`));
  const [action] = /\/[\w/-]+\/secrets\/[\w-]+\/remove/.exec(row ?? '') ?? [];
  if (!action) return;
  const removed = await retryUntilAvailable(() => post(owner, action, { sure: 'yes' }));
  // A retry after a missing response may find nothing to remove.
  journal.write('remove secret', first.id, removed, 404);
  first.works = false;
}
