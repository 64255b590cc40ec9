import { userActor } from '../../../src/accounts/users.ts';
import { changeAppPolicy } from '../../../src/grants/app-policies.ts';
import { newId } from '../../../src/lib/ids.ts';
import { blockApp, decideRequest } from '../../support/app-rules.ts';
import { once } from '../../support/once.ts';
import type { TestServer } from '../../support/test-server.ts';
import { PKCE } from './inactive-grants.ts';

/** Errors that an app receives at its redirect URI: the error, its reason, and how to cause it. */
export type CallbackProvocation = [error: string, reason: string, to: string, provoke: () => Promise<URL | undefined>];

export function callbackProvocations(server: TestServer): CallbackProvocation[] {
  const member = once(() => server.signedIn());
  const leave = async (changes: Record<string, string | undefined>, more = '') =>
    (await (await member()).open(server.authorizeUrl(changes) + more)).leftTo;
  const newApp = async (changes = {}) => (await server.addApp({ ownerBusinessId: server.acme.id, ...changes })).id;
  const { code_challenge } = PKCE;
  return [
    ['invalid_request', 'field_missing', 'a request without state', () => leave({ state: undefined })],
    [
      'invalid_request',
      'value_not_allowed',
      'a response_mode other than query',
      () => leave({ response_mode: 'fragment' }),
    ],
    ['invalid_request', 'field_repeated', 'a scope that comes twice', () => leave({}, '&scope=read:contacts')],
    ['invalid_request', 'value_not_allowed', 'an unknown prompt', () => leave({ prompt: 'create' })],
    ['invalid_request', 'pkce_malformed', 'a challenge without its method', () => leave({ code_challenge })],
    [
      'invalid_request',
      'pkce_required',
      'an app that needs a challenge',
      async () => leave({ client_id: await newApp({ requiresPkce: true }) }),
    ],
    ['unsupported_response_type', 'unsupported_response_type', 'another flow', () => leave({ response_type: 'token' })],
    ['invalid_scope', 'scope_unknown', 'an unknown scope', () => leave({ scope: 'read:minds' })],
    ['invalid_scope', 'scope_not_registered', 'a scope too many', () => leave({ scope: 'read:deals' })],
    [
      'invalid_target',
      'resource_unknown',
      'a resource of another server',
      () => leave({ resource: 'https://other.example/mcp' }),
    ],
    [
      'invalid_target',
      'resource_repeated',
      'two resources',
      () => leave({ resource: `${server.api}/mcp` }, `&resource=${server.api}/api/v1`),
    ],
    ...refusedAtTheScreen(server, member, newApp),
  ];
}

/** Each has its own business, whose owners restrict which apps may connect. */
function refusedByTheBusiness(server: TestServer): CallbackProvocation[] {
  const arrive = async (who: 'approved' | 'admins') => {
    const business = await server.addBusiness('Strict');
    const boss = await server.addUser(`Boss${newId(server.clock())}`, [[business, 'owner']]);
    const member = await server.addUser(`Member${newId(server.clock())}`, [[business, 'member']]);
    const app = await server.addApp({ ownerBusinessId: business.id });
    const rules = { businessId: business.id, who, reservesSensitive: false };
    await changeAppPolicy(userActor(boss, '127.0.0.1'), server.storage().durable, rules, server.clock());
    const browser = await server.signedIn(member);
    const address = server.authorizeUrl({ client_id: app.id });
    const back = async () =>
      (await browser.submit(await browser.open(address), '/consent', { decision: 'back' })).leftTo;
    return { app, address, browser, back, request: { app, user: member }, owner: await server.signedIn(boss) };
  };
  return [
    [
      'access_denied',
      'approval_required',
      'an app that is not approved',
      async () => (await arrive('approved')).back(),
    ],
    [
      'access_denied',
      'role_required',
      'a member who may not connect apps',
      async () => (await arrive('admins')).back(),
    ],
    [
      'access_denied',
      'app_refused',
      'an app that an owner has refused',
      async () => {
        const { address, browser, owner, request, back } = await arrive('approved');
        await browser.submit(await browser.open(address), '/consent', { decision: 'ask' });
        await decideRequest(owner, request, 'refuse');
        return back();
      },
    ],
    [
      'access_denied',
      'app_blocked',
      'an app that an owner has blocked',
      async () => {
        const { app, owner, back } = await arrive('approved');
        await blockApp(owner, app);
        return back();
      },
    ],
  ];
}

function refusedAtTheScreen(
  server: TestServer,
  member: () => ReturnType<TestServer['signedIn']>,
  newApp: () => Promise<string>,
): CallbackProvocation[] {
  return [
    [
      'access_denied',
      'denied_by_user',
      'a user who chose Deny',
      async () => {
        const browser = await member();
        const page = await browser.open(server.authorizeUrl({ client_id: await newApp() }));
        return (await browser.submit(page, '/consent', { decision: 'deny' })).leftTo;
      },
    ],
    [
      'access_denied',
      'not_a_member',
      'a user of another business',
      async () => {
        const stranger = await server.addUser('Kurt', [[await server.addBusiness('Elsewhere'), 'owner']]);
        return (await (await server.signedIn(stranger)).open(server.authorizeUrl())).leftTo;
      },
    ],
    ...refusedByTheBusiness(server),
    [
      'login_required',
      'login_required',
      'prompt=none without a session',
      async () => (await server.browse().open(server.authorizeUrl({ prompt: 'none' }))).leftTo,
    ],
    [
      'temporarily_unavailable',
      'temporarily_unavailable',
      'prompt=none from a user who was sent too often',
      async () => {
        const browser = await server.signedIn(
          await server.addUser('Busy', [[await server.addBusiness('Busy'), 'owner']]),
        );
        const client_id = (await server.addApp({ name: 'Console' })).id;
        const { changesPerUser } = server.settings.limits;
        for (let i = 0; i < changesPerUser; i++) await browser.open(server.authorizeUrl({ client_id, prompt: 'none' }));
        return (await browser.open(server.authorizeUrl({ client_id, prompt: 'none' }))).leftTo;
      },
    ],
    [
      'consent_required',
      'consent_required',
      'prompt=none before anything was allowed',
      async () => {
        const url = server.authorizeUrl({ client_id: await newApp(), prompt: 'none' });
        return (await (await member()).open(url)).leftTo;
      },
    ],
  ];
}
