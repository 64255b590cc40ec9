import { randomInt } from 'node:crypto';
import { inspect } from 'node:util';
import { registerInBrowser, shownCredentials } from '../../support/app-pages.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { grantIdIn } from '../../support/rows.ts';
import { type ApiClient, retryUntilAvailable } from './api-client.ts';
import { fetchCsrf, type Person, post, type TestBusiness } from './businesses.ts';
import type { Gate } from './gate.ts';
import { isLive, type Journal, type Lineage, newest } from './journal.ts';

interface Work {
  firm: TestBusiness;
  journal: Journal;
  asker: ApiClient;
}

const MOST_LIVE = 6;

const developerPath = ({ businessId }: TestBusiness) => `/businesses/${businessId}/developer`;

/** Random activity of a business, during faults of the server. */
export async function runLoad(work: Work, gate: Gate): Promise<void> {
  await fetchCsrf(work.firm.owner);
  await fetchCsrf(work.firm.mate);
  while (await gate.letsThrough()) {
    await choose(work)(work).catch((error) => work.journal.wrong.push(inspect(error)));
  }
}

/** Repeated by frequency. */
const STEPS: [times: number, step: (work: Work) => Promise<void>][] = [
  [6, connectOwner],
  [12, refreshOne],
  [3, revokeOne],
  [3, revokeAccess],
  [1, leaveCode],
  [1, disconnect],
  [1, disable],
  [1, comeAndGo],
  [1, registerApp],
];
const DRAWN = STEPS.flatMap(([times, step]) => Array.from({ length: times }, () => step));

function choose({ firm, journal }: Work): (work: Work) => Promise<void> {
  if (firm.isDisabled) return enable;
  const step = DRAWN[randomInt(DRAWN.length)] ?? refreshOne;
  const live = liveOf(journal, firm).length;
  if (live === 0) return connectOwner;
  return step === connectOwner && live >= MOST_LIVE ? revokeOne : step;
}

const liveOf = ({ lineages }: Journal, firm: TestBusiness) =>
  lineages.filter((lineage) => lineage.firm === firm && isLive(lineage));

function oneOf(items: Lineage[]): Lineage {
  return items[randomInt(items.length)] as Lineage;
}

async function allow({ firm, asker }: Work, { browser }: Person): Promise<Lineage> {
  const code = await retryUntilAvailable(async () => {
    const page = await browser.open(asker.authorizeUrl(firm.app));
    const response = page.status === 200 ? await browser.submit(page, '/consent', { decision: 'allow' }) : page;
    return response.leftTo?.searchParams.get('code') ?? undefined;
  });
  return { firm, code, pairs: [], revokedAccess: new Set() };
}

async function leaveCode(work: Work): Promise<void> {
  work.journal.lineages.push(await allow(work, work.firm.owner));
}

async function connectOwner(work: Work): Promise<void> {
  await connect(work, work.firm.owner);
}

async function connect(work: Work, person: Person): Promise<Lineage | undefined> {
  const { firm, journal, asker } = work;
  const lineage = await allow(work, person);
  const grant = grantIdIn(lineage.code);
  let tries = 0;
  const heard = await retryUntilAvailable(() => {
    tries += 1;
    return asker.exchange(firm.app, lineage.code);
  });
  // An exchange that was cut off may have been done: then trying again has used the code a second time.
  if (!journal.write('exchange', grant, heard, ...(tries > 1 ? [400] : []))) return undefined;
  lineage.pairs.push(heard.body);
  journal.lineages.push(lineage);
  return lineage;
}

async function refreshOne({ firm, journal, asker }: Work): Promise<void> {
  const lineage = oneOf(liveOf(journal, firm));
  const heard = await retryUntilAvailable(() => asker.refresh(firm.app, newest(lineage).refresh_token));
  if (journal.write('refresh', grantIdIn(lineage.code), heard)) lineage.pairs.push(heard.body);
}

async function revokeOne({ firm, journal, asker }: Work): Promise<void> {
  const lineage = oneOf(liveOf(journal, firm));
  const heard = await retryUntilAvailable(() => asker.revoke(newest(lineage).refresh_token));
  if (journal.write('revoke', grantIdIn(lineage.code), heard)) lineage.endedBy = 'revoked_by_app';
}

async function revokeAccess({ firm, journal, asker }: Work): Promise<void> {
  const lineage = oneOf(liveOf(journal, firm));
  const { access_token } = newest(lineage);
  const heard = await retryUntilAvailable(() => asker.revoke(access_token));
  if (journal.write('revoke access', grantIdIn(lineage.code), heard)) lineage.revokedAccess.add(access_token);
}

/** Ends all grants of the owner. */
async function disconnect({ firm, journal }: Work): Promise<void> {
  const { owner, app, businessId } = firm;
  const path = `/businesses/${businessId}/connected-apps/disconnect`;
  const heard = await retryUntilAvailable(() => post(owner, path, { app: app.id }));
  if (!journal.write('disconnect', app.id, heard)) return;
  for (const lineage of journal.lineages) if (lineage.firm === firm) lineage.endedBy ??= 'disconnected_by_user';
}

async function disable({ firm, journal }: Work): Promise<void> {
  const heard = await retryUntilAvailable(() => post(firm.owner, `${developerPath(firm)}/${firm.app.id}/disable`));
  if (journal.write('disable', firm.app.id, heard)) firm.isDisabled = true;
}

async function enable({ firm, journal }: Work): Promise<void> {
  const heard = await retryUntilAvailable(() => post(firm.owner, `${developerPath(firm)}/${firm.app.id}/enable`));
  if (journal.write('enable', firm.app.id, heard)) firm.isDisabled = false;
}

/** Someone is invited, joins, connects the app and is removed. */
async function comeAndGo(work: Work): Promise<void> {
  const { firm, journal } = work;
  const { owner, mate, businessId } = firm;
  const link = await retryUntilAvailable(() => inviteInBrowser(owner.browser, { email: mate.user.email }));
  let attempts = 0;
  const joined = await retryUntilAvailable(() => {
    attempts += 1;
    return post(mate, link);
  });
  // After an attempt without a response, the link may have been used.
  const isUsed = attempts > 1 && joined.status === 410;
  if (!journal.write('join', mate.user.id, joined, ...(isUsed ? [410] : [])) && !isUsed) return;
  const lineage = await connect(work, mate);
  const path = `/businesses/${businessId}/members/${mate.user.id}/remove`;
  let tries = 0;
  const removed = await retryUntilAvailable(() => {
    tries += 1;
    return post(owner, path);
  });
  // Who was removed without a response is not there any more.
  journal.write('remove', mate.user.id, removed, ...(tries > 1 ? [404] : []));
  if (lineage) lineage.endedBy = 'member_removed';
}

/** Registers an app, adds a secret and removes the first; gives up if the state is unknown. */
async function registerApp({ firm, journal }: Work): Promise<void> {
  const { owner } = firm;
  const began = Date.now();
  const shown = await registerInBrowser(owner.browser, developerPath(firm)).catch(() => undefined);
  if (shown?.status !== 200) return;
  const first = { ...shownCredentials(shown), works: true };
  journal.secrets.push(first);
  journal.write('register', first.id, { status: 200, body: '', began, ended: Date.now() });
  const added = await post(owner, `${developerPath(firm)}/${first.id}/secrets`).catch(() => undefined);
  if (added?.status !== 200) return;
  const second = { ...shownCredentials({ ...shown, text: added.body }), works: true };
  journal.secrets.push(second);
  journal.write('add secret', first.id, added);
  const { text } = await retryUntilAvailable(() => owner.browser.open(`${developerPath(firm)}/${first.id}`));
  const row = text.split('<li>').find((each) => each.includes(`…${first.secret.slice(-4)}</code>`));
  const [action] = /\/[\w/-]+\/secrets\/[\w-]+\/remove/.exec(row ?? '') ?? [];
  if (!action) return;
  const removed = await retryUntilAvailable(() => post(owner, action, { sure: 'yes' }));
  // A second try, after one without a response, may find nothing left to remove.
  journal.write('remove secret', first.id, removed, 404);
  first.works = false;
}
