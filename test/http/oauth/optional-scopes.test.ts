import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScopes } from '../../../src/lib/scope-lists.ts';
import type { Browser, BrowserPage } from '../../support/browser.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants, readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const firstParty = await server.addApp({ name: 'Console' });
let users = 0;
const arrive = async () => server.signedIn(await server.addUser(`Person${++users}`, [[server.acme, 'member']]));

const INVOICES = 'read:invoices';
const CONTACTS = 'read:contacts';
const CHANGES = 'write:invoices';
const REQUEST = { scope: INVOICES, optional_scope: CONTACTS };

/** The boxes of a screen, and whether each is ticked. */
function boxesOn({ text }: BrowserPage): Record<string, boolean> {
  const boxes = text.matchAll(/<input type="checkbox" name="optional_scope" value="([^"]*)" (checked)?>/g);
  return Object.fromEntries([...boxes].map(([, name, mark]) => [name, mark === 'checked']));
}

const press = (browser: Browser, page: BrowserPage, ticked: string[]) =>
  browser.submit(page, '/consent', { decision: 'allow', optional_scope: ticked });

async function choose(browser: Browser, query: Record<string, string>, ticked: string[]): Promise<string> {
  const page = await browser.open(server.authorizeUrl(query));
  assert.equal(page.status, 200, 'the screen is shown');
  return grantedBy(await press(browser, page, ticked));
}

/** The granted scope in the token response. */
async function grantedBy({ leftTo, status }: BrowserPage, credentials = {}): Promise<string> {
  const { code } = redirectParams(leftTo?.href);
  assert.ok(code, `a code came back, not ${status} ${leftTo}`);
  return (await server.exchange(code, credentials)).body.scope;
}

test('optional scopes are checkboxes, ticked at first; required scopes have none', async () => {
  const page = await (await arrive()).open(
    server.authorizeUrl({ scope: `${INVOICES} ${CONTACTS}`, optional_scope: `${CONTACTS} ${CHANGES}` }),
  );

  assert.deepEqual(boxesOn(page), { [CONTACTS]: true, [CHANGES]: true }, 'including one that is in both parameters');
  assert.match(page.text, /<span>View invoices, line items and payment status <\/span><\/li>/);
});

test('a request without optional scopes shows no checkboxes', async () => {
  const page = await (await arrive()).open(server.authorizeUrl());

  assert.deepEqual(boxesOn(page), {});
  assert.doesNotMatch(page.text, /Untick/);
});

test('unticked scopes are not granted: code, tokens, introspection and API agree', async () => {
  const browser = await arrive();
  const query = { scope: `${CONTACTS} ${INVOICES}`, optional_scope: `${INVOICES} ${CHANGES}` };
  const page = await browser.open(server.authorizeUrl(query));
  const { code = '' } = redirectParams((await press(browser, page, [CHANGES])).leftTo?.href);

  const { body } = await server.exchange(code);
  const refreshed = await server.refresh(body.refresh_token);
  const invoices = await server.listInvoices(refreshed.body.access_token);
  const wider = await server.refresh(refreshed.body.refresh_token, { scope: INVOICES });

  const granted = `${CHANGES} ${CONTACTS}`;
  assert.deepEqual(parseScopes((await readGrant(server, code)).scopes), granted.split(' '));
  assert.equal(body.scope, granted);
  assert.equal(refreshed.body.scope, granted);
  assert.equal((await server.introspect(refreshed.body.access_token)).body.scope, granted);
  assert.deepEqual([invoices.status, invoices.body.error], [403, 'insufficient_scope']);
  assert.equal(wider.body.reason, 'scope_not_allowed');
});

test('ticked scopes are granted together with the required ones', async () => {
  assert.equal(await choose(await arrive(), REQUEST, [CONTACTS]), `${INVOICES} ${CONTACTS}`);
});

test('ticking scopes that were not requested, or do not exist, grants nothing [C3]', async () => {
  const granted = await choose(await arrive(), REQUEST, [CHANGES, 'read:orders', '__proto__', '\u0000', CONTACTS]);

  assert.equal(granted, `${INVOICES} ${CONTACTS}`);
});

test('if every scope is optional and none is ticked, the screen says so, grants nothing, and can be submitted again', async () => {
  const browser = await arrive();
  const query = { scope: INVOICES, optional_scope: `${INVOICES} ${CONTACTS}` };
  const page = await browser.open(server.authorizeUrl(query));
  const before = await countGrants(server);

  const again = await press(browser, page, []);

  assert.equal(again.status, 400);
  assert.match(again.text, /<p class="problem" id="optional_scope-problem">Tick at least one, or choose Deny\.<\/p>/);
  assert.match(again.text, /<fieldset [^>]*aria-describedby="optional_scope-hint optional_scope-problem"/);
  assert.deepEqual(boxesOn(again), { [INVOICES]: false, [CONTACTS]: false }, 'unticked scopes stay unticked');
  assert.equal(await countGrants(server), before);
  assert.equal(await grantedBy(await press(browser, again, [CONTACTS])), CONTACTS);
});

test('an optional scope that is unknown, or not the app’s, is rejected by redirect like any other', async () => {
  for (const [optional_scope, reason] of [
    ['read:minds', 'scope_unknown'],
    [`${CONTACTS},${CHANGES}`, 'scope_unknown'],
    ['read:orders', 'scope_not_registered'],
  ]) {
    const response = await (await arrive()).open(server.authorizeUrl({ optional_scope }));
    assert.deepEqual(
      [redirectParams(response.leftTo?.href).error, redirectParams(response.leftTo?.href).reason],
      ['invalid_scope', reason],
      `optional_scope=${optional_scope}`,
    );
  }
});

test('optional_scope sent twice is rejected, and empty it counts as absent [A8][A9]', async () => {
  const browser = await arrive();
  const twice = await browser.open(`${server.authorizeUrl(REQUEST)}&optional_scope=${CONTACTS}`);
  const empty = await browser.open(server.authorizeUrl({ optional_scope: '' }));

  assert.equal(redirectParams(twice.leftTo?.href).reason, 'field_repeated');
  assert.deepEqual([empty.status, boxesOn(empty)], [200, {}]);
});

test('the same request shows no screen again: declined scopes stay declined', async () => {
  const browser = await arrive();
  await choose(browser, { ...REQUEST, optional_scope: `${CONTACTS} ${CHANGES}` }, [CHANGES]);

  for (const prompt of [undefined, 'none']) {
    const again = await browser.open(
      server.authorizeUrl({ ...REQUEST, optional_scope: `${CONTACTS} ${CHANGES}`, prompt }),
    );
    assert.equal(await grantedBy(again), `${INVOICES} ${CHANGES}`, `prompt=${prompt}`);
  }
});

test('a new optional scope is offered once, and declined ones stay unticked [C7]', async () => {
  const browser = await arrive();
  await choose(browser, REQUEST, []);

  const page = await browser.open(server.authorizeUrl({ ...REQUEST, optional_scope: `${CONTACTS} ${CHANGES}` }));

  assert.deepEqual(boxesOn(page), { [CONTACTS]: false, [CHANGES]: true });
  assert.equal([...page.text.matchAll(/<span class="new">New<\/span><\/span>/g)].length, 1);
  assert.equal(await grantedBy(await press(browser, page, [])), INVOICES);
  const again = await browser.open(server.authorizeUrl({ ...REQUEST, optional_scope: `${CONTACTS} ${CHANGES}` }));
  assert.equal(await grantedBy(again), INVOICES);
});

test('prompt=none leaves out a new optional scope, and fails for a new required one', async () => {
  const browser = await arrive();
  await choose(browser, { scope: INVOICES }, []);

  const optional = await browser.open(server.authorizeUrl({ ...REQUEST, prompt: 'none' }));
  const required = await browser.open(
    server.authorizeUrl({ scope: CONTACTS, optional_scope: CHANGES, prompt: 'none' }),
  );
  const nothing = await browser.open(
    server.authorizeUrl({ scope: CONTACTS, optional_scope: CONTACTS, prompt: 'none' }),
  );

  assert.equal(await grantedBy(optional), INVOICES);
  assert.equal(redirectParams(required.leftTo?.href).error, 'consent_required');
  assert.equal(redirectParams(nothing.leftTo?.href).error, 'consent_required', 'no code is issued without a scope');
});

test('a declined scope needs consent once the app requires it', async () => {
  const browser = await arrive();
  await choose(browser, REQUEST, []);

  assert.equal(await choose(browser, { scope: `${INVOICES} ${CONTACTS}` }, []), `${INVOICES} ${CONTACTS}`);
  const again = await browser.open(server.authorizeUrl(REQUEST));
  assert.equal(await grantedBy(again), `${INVOICES} ${CONTACTS}`, 'and is remembered as allowed');
});

test('unticking a scope that was allowed before removes it from later silent grants', async () => {
  const browser = await arrive();
  await choose(browser, REQUEST, [CONTACTS]);

  const page = await browser.open(server.authorizeUrl({ scope: `${INVOICES} ${CHANGES}`, optional_scope: CONTACTS }));
  assert.match(page.text, /What you allowed before stays allowed until you disconnect the app/);
  await grantedBy(await press(browser, page, []));

  const again = await browser.open(server.authorizeUrl(REQUEST));
  assert.equal(await grantedBy(again), INVOICES);
});

test('disconnecting forgets declined scopes, too', async () => {
  const browser = await arrive();
  await choose(browser, REQUEST, []);
  await browser.submit(await browser.open('/settings/connected-apps'), '/settings/connected-apps/disconnect');

  assert.deepEqual(boxesOn(await browser.open(server.authorizeUrl(REQUEST))), { [CONTACTS]: true });
});

test('a second click with other boxes ticked does not change the first decision [C1]', async () => {
  const browser = await arrive();
  const page = await browser.open(server.authorizeUrl(REQUEST));

  const first = await press(browser, page, []);
  const second = await press(browser, page, [CONTACTS]);

  assert.equal(redirectParams(second.leftTo?.href).code, redirectParams(first.leftTo?.href).code);
  assert.equal(await grantedBy(first), INVOICES);
  assert.equal(await grantedBy(await browser.open(server.authorizeUrl(REQUEST))), INVOICES);
});

test('a first-party app is granted every scope it requests, optional or not', async () => {
  const response = await (await arrive()).open(server.authorizeUrl({ ...REQUEST, client_id: firstParty.id }));

  const credentials = { client_id: firstParty.id, client_secret: firstParty.secret };
  assert.equal(await grantedBy(response, credentials), `${INVOICES} ${CONTACTS}`);
});

for (const decision of ['switch', 'allow']) {
  test(`unticked scopes stay unticked when another business is chosen with ${decision}, and the page says which`, async () => {
    const beta = await server.addBusiness('Beta');
    const app = await server.addApp({ name: 'Open', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
    const both = await server.addUser(`Both${++users}`, [
      [server.acme, 'member'],
      [beta, 'member'],
    ]);
    const browser = await server.signedIn(both);
    const query = { ...REQUEST, optional_scope: `${CONTACTS} ${CHANGES}`, client_id: app.id };
    const page = await browser.open(server.authorizeUrl(query));
    const before = await countGrants(server);

    const chosen = await browser.submit(page, '/consent', { decision, business: beta.id, optional_scope: CHANGES });

    assert.deepEqual([chosen.status, boxesOn(chosen)], [200, { [CONTACTS]: false, [CHANGES]: true }]);
    assert.match(chosen.text, /role="status">You chose Beta\. Check the request, then allow\.</);
    assert.doesNotMatch(page.text, /You chose/);
    assert.equal(await countGrants(server), before, 'nothing is granted yet');
    const credentials = { client_id: app.id, client_secret: app.secret };
    const allowed = await browser.submit(chosen, '/consent', {
      decision: 'allow',
      business: beta.id,
      optional_scope: CHANGES,
    });
    assert.equal(await grantedBy(allowed, credentials), `${INVOICES} ${CHANGES}`);
  });
}
