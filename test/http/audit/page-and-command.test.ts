import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { registerInBrowser, removableSecrets } from '../../support/app-pages.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { PASSWORD, REDIRECT_URI, type RegisteredApp } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const MEMBERS = server.acmePath('members');
const operator = createCommandRunner(server);
const owner = await server.signedIn();
const admin = await server.signedInByPassword(await server.addUser('Root', [], true));
const NEW_PASSWORD = 'a very new password';
let users = 0;

/** The users of a test differ in a number only, which `entriesOf` removes from their names. */
const addTwin = (isPlatformAdmin = false) =>
  server.addUser(`Twin${++users}`, [[server.acme, 'member']], isPlatformAdmin);

/** The audit entries that an operation adds, without the actor. Commands use another clock, so this finds new entries by id. */
async function entriesOf(operation: () => Promise<unknown>) {
  const all = () => server.storage().durable.selectFrom('audit_entries').selectAll().execute();
  const known = new Set((await all()).map(({ id }) => id));
  await operation();
  const added = (await all()).filter(({ id }) => !known.has(id));
  return added.map(({ action, business_id, subject_kind, subject_name, detail }) => ({
    action,
    businessId: business_id,
    subject: [subject_kind, subject_name.replace(/\d+/, '')],
    // The last characters of a secret differ.
    detail: JSON.parse(detail.replace(/…[\w-]{4}/, '…')),
  }));
}

async function assertSameEntry(onPage: () => Promise<unknown>, asCommand: () => Promise<unknown>) {
  const fromPage = await entriesOf(onPage);
  const fromCommand = await entriesOf(asCommand);

  assert.equal(fromPage.length, 1);
  assert.deepEqual(fromPage, fromCommand);
}

/** A platform admin opens the form at `path` and submits it to the path of the same operation. */
async function submitAsAdmin({ id }: User, operation: string, page = '') {
  const path = `/platform/users/${id}`;
  await admin.submit(await admin.open(path + page), `${path}/${operation}`);
}

async function submitAsOwner({ id }: User, operation: string, fields = {}, page = '') {
  const path = `${MEMBERS}/${id}`;
  await owner.submit(await owner.open(path + page), `${path}/${operation}`, fields);
}

async function unverified(isPlatformAdmin = false): Promise<User> {
  const user = await addTwin(isPlatformAdmin);
  const users = server.storage().durable.updateTable('users');
  await users.set({ email_verified_at: null }).where('id', '=', user.id).execute();
  return user;
}

async function disabled(isPlatformAdmin = false): Promise<User> {
  const user = await addTwin(isPlatformAdmin);
  await operator('user disable', { user: user.id });
  return user;
}

interface Operation {
  user?: (isPlatformAdmin?: boolean) => Promise<User>;
  onPage: (user: User) => Promise<unknown>;
  asCommand: (user: User) => Promise<unknown>;
}

const ON_USERS: Record<string, Operation> = {
  'disabling a user': {
    onPage: (user) => submitAsAdmin(user, 'disable', '/disable'),
    asCommand: ({ id }) => operator('user disable', { user: id }),
  },
  'enabling a user': {
    user: disabled,
    onPage: (user) => submitAsAdmin(user, 'enable'),
    asCommand: ({ id }) => operator('user enable', { user: id }),
  },
  'ending all connections of a user': {
    onPage: (user) => submitAsAdmin(user, 'end-connections', '/end-connections'),
    asCommand: ({ id }) => operator('user end-connections', { user: id }),
  },
  'creating a password link': {
    onPage: (user) => submitAsAdmin(user, 'password-link'),
    asCommand: ({ id }) => operator('user password-link', { user: id }),
  },
  'verifying an email address': {
    user: unverified,
    onPage: (user) => submitAsAdmin(user, 'verify-email'),
    asCommand: ({ id }) => operator('user verify-email', { user: id }),
  },
};

const IN_BUSINESSES: Record<string, Operation> = {
  'changing a role': {
    onPage: (user) => submitAsOwner(user, 'role', { role: 'admin' }),
    asCommand: ({ id }) => operator('member set-role', { user: id, business: server.acme.id, role: 'admin' }),
  },
  'removing a member': {
    onPage: (user) => submitAsOwner(user, 'remove', {}, '/remove'),
    asCommand: ({ id }) => operator('member remove', { user: id, business: server.acme.id }),
  },
};

async function assertSameOnUsers({ user = addTwin, onPage, asCommand }: Operation, isPlatformAdmin = false) {
  const [one, other] = [await user(isPlatformAdmin), await user(isPlatformAdmin)];

  await assertSameEntry(
    () => onPage(one),
    () => asCommand(other),
  );
}

for (const [name, operation] of Object.entries({ ...ON_USERS, ...IN_BUSINESSES })) {
  test(`${name} leaves the same audit entry from a page and from the command line`, () => assertSameOnUsers(operation));
}

for (const [name, operation] of Object.entries(ON_USERS)) {
  test(`${name} leaves the same audit entry from both, if the user is a platform admin`, () =>
    assertSameOnUsers(operation, true));
}

test('an invitation leaves the same audit entry, and the command names the owner in whose name it is', async () => {
  const invited = { role: 'member', email: 'guest@example.com' };

  const fromPage = await entriesOf(() => inviteInBrowser(owner, invited));
  const [withdrawn, ...fromCommand] = await entriesOf(() =>
    operator('member invite', { ...invited, business: server.acme.id, by: server.ada.id }),
  );

  const detail = { ...fromPage[0]?.detail, in_the_name_of: server.ada.name };
  assert.equal(withdrawn?.action, 'member.invitation_withdrawn');
  assert.deepEqual(fromCommand, [{ ...fromPage[0], detail }]);
});

test('a password that is changed on the account page or by a command leaves the same audit entry', async () => {
  await assertSameOnUsers({
    async onPage(user) {
      const browser = await server.signedIn(user);
      const fields = { current_password: PASSWORD, password: NEW_PASSWORD };
      await browser.submit(await browser.open('/settings/account'), '/settings/account/password', fields);
    },
    asCommand: ({ id }) => operator('user set-password', { user: id, password: NEW_PASSWORD }),
  });
});

async function submitOnAppPage({ id }: RegisteredApp, operation: string, page = `/${operation}`, fields = {}) {
  const path = `${DEVELOPER}/${id}`;
  await owner.submit(await owner.open(path + page), path + (operation && `/${operation}`), fields);
}

async function submitOnPlatformPage({ id }: RegisteredApp, operation: string, page = '') {
  const path = `/platform/apps/${id}`;
  await admin.submit(await admin.open(path + page), `${path}/${operation}`);
}

const SETTINGS = {
  name: 'Shelves',
  redirect_uris: REDIRECT_URI,
  scope: ['read:invoices', 'write:invoices', 'read:contacts'],
};

interface AppOperation {
  before?: string;
  onPage: (app: RegisteredApp) => Promise<unknown>;
  command: string;
  options?: Record<string, string>;
}

const ON_APPS: Record<string, AppOperation> = {
  'changing an app': {
    onPage: (app) => submitOnAppPage(app, '', '', SETTINGS),
    command: 'app change',
    options: { name: SETTINGS.name },
  },
  'disabling an app': { onPage: (app) => submitOnAppPage(app, 'disable'), command: 'app disable' },
  'enabling an app': {
    before: 'app disable',
    onPage: (app) => submitOnAppPage(app, 'enable', ''),
    command: 'app enable',
  },
  'adding a secret': { onPage: (app) => submitOnAppPage(app, 'secrets', ''), command: 'app add-secret' },
  'deleting an app': {
    before: 'app disable',
    onPage: (app) => submitOnAppPage(app, 'delete'),
    command: 'app delete',
  },
  'ending every token of an app': {
    onPage: (app) => submitOnAppPage(app, 'end-tokens'),
    command: 'app end-tokens',
  },
  'pausing an app': { onPage: (app) => submitOnPlatformPage(app, 'pause', '/pause'), command: 'app pause' },
  'resuming an app': {
    before: 'app pause',
    onPage: (app) => submitOnPlatformPage(app, 'resume'),
    command: 'app resume',
  },
};

for (const [name, { before, onPage, command, options }] of Object.entries(ON_APPS)) {
  test(`${name} leaves the same audit entry from a page and from the command line`, async () => {
    const ownerBusinessId = server.acme.id;
    const [one, other] = [await server.addApp({ ownerBusinessId }), await server.addApp({ ownerBusinessId })];
    if (before) for (const { id } of [one, other]) await operator(before, { app: id });

    await assertSameEntry(
      () => onPage(one),
      () => operator(command, { app: other.id, ...options }),
    );
  });
}

test('registering an app leaves the same audit entry from a page and from the command line', async () => {
  const [scope, name] = ['read:invoices', 'Shelf'];

  await assertSameEntry(
    () => registerInBrowser(owner, DEVELOPER, { name, scope }),
    () => operator('app add', { name, scope, 'redirect-uri': REDIRECT_URI, business: server.acme.id }),
  );
});

test('removing a secret leaves the same audit entry from a page and from the command line', async () => {
  const withTwoSecrets = async () => {
    const app = await server.addApp({ ownerBusinessId: server.acme.id });
    await operator('app add-secret', { app: app.id });
    const [older] = removableSecrets(await owner.open(`${DEVELOPER}/${app.id}`));
    return { app, secret: older ?? '' };
  };
  const [one, other] = [await withTwoSecrets(), await withTwoSecrets()];

  await assertSameEntry(
    () => submitOnAppPage(one.app, `secrets/${one.secret}/remove`, ''),
    () => operator('app remove-secret', { app: other.app.id, secret: other.secret }),
  );
});

const ENDPOINT_URL = 'https://hooks.example/events';
const EVENT = 'grant.revoked';

async function addEndpoint(): Promise<{ app: RegisteredApp; endpointId: string }> {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const keys = createKeyring(server.settings.secretKeys);
  const settings = { appId: app.id, url: ENDPOINT_URL, eventTypes: [EVENT] };
  const { endpoint } = await insertEndpoint(server.storage().durable, keys, settings, server.clock());
  return { app, endpointId: endpoint.id };
}

test('adding an endpoint leaves the same audit entry from a page and from the command line', async () => {
  const [one, other] = [await addEndpoint(), await addEndpoint()];

  await assertSameEntry(
    () => submitOnAppPage(one.app, 'endpoints', '/endpoints/new', { url: ENDPOINT_URL, events: [EVENT] }),
    () => operator('endpoint add', { app: other.app.id, url: ENDPOINT_URL, event: EVENT }),
  );
});

interface EndpointOperation {
  before?: string;
  /** The path of the form's action below the endpoint, and of its page if that is another one. */
  action: string;
  page?: string;
  fields?: Record<string, string | string[]>;
  command: string;
  options?: Record<string, string>;
}

const ON_ENDPOINTS: Record<string, EndpointOperation> = {
  'changing an endpoint': {
    action: '',
    fields: { url: `${ENDPOINT_URL}/new`, events: [EVENT] },
    command: 'endpoint change',
    options: { url: `${ENDPOINT_URL}/new` },
  },
  'replacing the signing secret': { action: '/secret', command: 'endpoint replace-secret' },
  'disabling an endpoint': { action: '/disable', command: 'endpoint disable' },
  'enabling an endpoint': { before: 'endpoint disable', action: '/enable', command: 'endpoint enable' },
  'removing an endpoint': { action: '/remove', page: '/remove', command: 'endpoint remove' },
};

for (const [name, { before, action, page = '', fields, command, options }] of Object.entries(ON_ENDPOINTS)) {
  test(`${name} leaves the same audit entry from a page and from the command line`, async () => {
    const [one, other] = [await addEndpoint(), await addEndpoint()];
    const named = ({ app, endpointId }: typeof one) => ({ app: app.id, endpoint: endpointId });
    if (before) for (const each of [one, other]) await operator(before, named(each));
    const path = `endpoints/${one.endpointId}`;

    await assertSameEntry(
      () => submitOnAppPage(one.app, path + action, `/${path}${page}`, fields),
      () => operator(command, { ...named(other), ...options }),
    );
  });
}
