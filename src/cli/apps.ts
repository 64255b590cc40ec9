import { findBusiness } from '../accounts/businesses.ts';
import { type App, type AppSettings, deleteApp, findApp, listAppsOf, registerApp } from '../apps/apps.ts';
import { appIdOf, clientIdOf } from '../apps/client-ids.ts';
import { addSecret, listSecrets, removeSecret } from '../apps/secrets.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readPrivateSchemes } from '../config/external-clients.ts';
import { endTokensOfApp } from '../grants/app-tokens.ts';
import { changeAppSettings, disableApp, enableApp, pauseApp, resumeApp } from '../grants/suspension.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import type { Scopes } from '../lib/scope-lists.ts';
import { readScopes, SCOPES } from '../oauth/scopes.ts';
import type { Database } from '../storage/storage.ts';
import {
  type Command,
  ID_EXAMPLE,
  type Options,
  required,
  somethingToChange,
  UsageError,
  withStorage,
} from './command.ts';
import { formatResult } from './output.ts';

const YES_NO = ['yes', 'no'];
const SCOPE_NAMES = SCOPES.map(({ name }) => name);

export const APP = { value: 'ID', help: 'The app’s client_id', required: true };

const ONE_OWNER = 'Give either --business ID or --platform.';

export const appCommands: Command[] = [
  {
    name: 'app add',
    summary: 'Register an app; its client_secret, if it has one, is printed only once',
    options: {
      name: { value: 'NAME', help: 'What users see', required: true, example: 'Ledgerly' },
      'redirect-uri': { value: 'URL', help: 'Where users are redirected to', required: true, multiple: true },
      scope: {
        value: 'SCOPE',
        help: 'A scope that the app may request',
        required: true,
        multiple: true,
        choices: SCOPE_NAMES,
      },
      business: { value: 'ID', help: 'The business that owns it' },
      'any-business': { help: 'Let users of any business connect it' },
      platform: { help: 'Make it a first-party app of the platform, without a consent screen' },
      public: { help: 'It runs on devices of its users: no secret, always PKCE' },
      'require-pkce': { help: 'Reject requests without PKCE' },
    },
    needsOneOf: { options: ['business', 'platform'], otherwise: ONE_OWNER },
    examples: [`--business ${ID_EXAMPLE}`, '--platform', `--business ${ID_EXAMPLE} --public --any-business`],
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const newApp = { ...(await readApp(db, options)), privateSchemes: readPrivateSchemes(env) };
        const registered = required(await registerApp(OPERATOR, db, newApp, systemClock()), 'name', 'app');
        return { ...describe(registered.app), ...(registered.secret !== null && { client_secret: registered.secret }) };
      }),
  },
  {
    name: 'app change',
    summary: 'Change an app; omitted settings stay unchanged',
    options: {
      app: APP,
      name: { value: 'NAME', help: 'What users see' },
      'redirect-uri': { value: 'URL', help: 'Where users are redirected to; replaces all', multiple: true },
      scope: {
        value: 'SCOPE',
        help: 'A scope that the app may request; replaces all',
        multiple: true,
        choices: SCOPE_NAMES,
      },
      open: { value: 'yes|no', help: 'Whether users of any business may connect it', choices: YES_NO },
      pkce: { value: 'yes|no', help: 'Whether requests without PKCE are rejected', choices: YES_NO },
    },
    needsOneOf: somethingToChange('name', 'redirect-uri', 'scope', 'open', 'pkce'),
    examples: ['--name Ledgerly', '--scope read:invoices --scope read:contacts', '--pkce yes'],
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const appId = appIdOf(options.text('app'));
        const change = (before: App) => readChange(options, before);
        return describe(
          required(
            await changeAppSettings(
              OPERATOR,
              db,
              { appId, change, privateSchemes: readPrivateSchemes(env) },
              systemClock(),
            ),
            'app',
            'app',
          ),
        );
      }),
  },
  {
    name: 'app list',
    summary: 'List the apps of a business, or the first-party ones',
    options: { business: { value: 'ID', help: 'The id of the business (default: first-party apps)' } },
    examples: [`--business ${ID_EXAMPLE}`, '--json'],
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const businessId = options.text('business');
        if (businessId) required(await findBusiness(durable, businessId), 'business', 'business');
        const apps = await listAppsOf(durable, businessId || null);
        return { apps: apps.map(describe) };
      }),
    format(result, { options }) {
      const isEmpty = (result as { apps: object[] }).apps.length === 0;
      if (isEmpty && !options.text('business')) {
        return 'first-party apps: none; for those of a business, use --business ID';
      }
      return formatResult(result, ['client_id', 'name', 'isPublic', 'disabledAt', 'pausedAt', 'createdAt']);
    },
  },
  onApp('app disable', 'Stop an app immediately, until it is enabled again', (db, app, now) =>
    disableApp(OPERATOR, db, app, now),
  ),
  onApp('app enable', 'Let a disabled app work again', (db, app, now) => enableApp(OPERATOR, db, app, now)),
  onApp('app pause', 'Stop an app everywhere until it is resumed; its owner cannot undo it', (db, app, now) =>
    pauseApp(OPERATOR, db, { app }, now),
  ),
  onApp('app resume', 'Let a paused app work again', (db, app, now) => resumeApp(OPERATOR, db, app, now)),
  onApp('app delete', 'Delete an app permanently; all its tokens stop working', (db, app, now) =>
    deleteApp(OPERATOR, db, app, now),
  ),
  onApp('app end-tokens', 'End every token and code that an app has got until now', async (db, app, now) => ({
    ended_connections: await endTokensOfApp(OPERATOR, db, app, now),
  })),
  onApp('app add-secret', 'Add a second secret; it is printed only once', async (db, app, now) => ({
    client_secret: await addSecret(OPERATOR, db, app, now),
  })),
  onApp('app list-secrets', 'List an app’s secrets by their ids and last characters', async (db, app) => ({
    secrets: await listSecrets(db, app.id),
  })),
  {
    name: 'app remove-secret',
    summary: 'Remove one of an app’s two secrets',
    options: { app: APP, secret: { value: 'ID', help: 'The secret’s id, from app list-secrets', required: true } },
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const app = required(await findApp(db, appIdOf(options.text('app'))), 'app', 'app');
        const isRemoved = await removeSecret(OPERATOR, db, { app, secretId: options.text('secret') }, systemClock());
        required(isRemoved || undefined, 'secret', 'secret of this app');
        return { ...describe(app), secrets: await listSecrets(db, app.id) };
      }),
  },
];

/** A command that runs one operation on one app, and prints the app afterwards. */
export function onApp(
  name: string,
  summary: string,
  run: (db: Database, app: App, now: number) => Promise<object | boolean>,
): Command {
  return {
    name,
    summary,
    options: { app: APP },
    columns: ['id', 'hint', 'createdAt', 'lastUsedAt'],
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const app = required(await findApp(db, appIdOf(options.text('app'))), 'app', 'app');
        const result = await run(db, app, systemClock());
        return { ...describe((await findApp(db, app.id)) ?? app), ...(typeof result === 'object' && result) };
      }),
  };
}

function readChange(options: Options, app: App): AppSettings {
  if (app.isPublic && options.text('pkce') === 'no') throw new UsageError('A public app always requires PKCE.');
  if (app.ownerBusinessId === null && options.text('open')) {
    throw new UsageError('--open is for apps of a business: a platform app acts in any business anyway.');
  }
  return {
    name: options.text('name') || app.name,
    redirectUris: options.list('redirect-uri').length > 0 ? options.list('redirect-uri') : app.redirectUris,
    allowedScopes: options.list('scope').length > 0 ? readScopeOptions(options) : app.allowedScopes,
    openToAnyBusiness: readYesNo(options, 'open', app.openToAnyBusiness),
    requiresPkce: readYesNo(options, 'pkce', app.requiresPkce),
  };
}

async function readApp(db: Database, options: Options) {
  const businessId = options.text('business');
  if ((businessId !== '') === options.flag('platform')) throw new UsageError(ONE_OWNER);
  if (options.flag('platform') && options.flag('any-business')) {
    throw new UsageError('--any-business requires --business: a platform app acts in any business anyway.');
  }
  if (businessId) required(await findBusiness(db, businessId), 'business', 'business');
  return {
    name: options.text('name'),
    redirectUris: options.list('redirect-uri'),
    allowedScopes: readScopeOptions(options),
    openToAnyBusiness: options.flag('any-business'),
    requiresPkce: options.flag('require-pkce'),
    ownerBusinessId: businessId || null,
    isPublic: options.flag('public'),
  };
}

function readScopeOptions(options: Options): Scopes {
  const { scopes, unknown } = readScopes(options.list('scope').flatMap((text) => text.split(/[\s,]+/).filter(Boolean)));
  if (unknown.length === 0) return scopes;
  const known = SCOPE_NAMES.join(', ');
  throw new FormError('scope', `Unknown scope: ${unknown.join(' ')}. Use one of: ${known}.`);
}

function readYesNo(options: Options, name: string, fallback: boolean): boolean {
  const text = options.text(name);
  if (!['', 'yes', 'no'].includes(text)) throw new UsageError(`--${name} must be yes or no.`);
  return text === '' ? fallback : text === 'yes';
}

export function describe({ externalClientId, identity, ...app }: App) {
  const { id, ...rest } = app;
  return { client_id: clientIdOf({ id, externalClientId }), ...rest, ...identity };
}
