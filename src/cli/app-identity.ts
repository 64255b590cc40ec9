import { readFile } from 'node:fs/promises';
import { changeIdentity, changeLogo, deleteLogo } from '../apps/app-changes.ts';
import type { App, AppIdentity } from '../apps/apps.ts';
import { appIdOf } from '../apps/client-ids.ts';
import { removeVerification, verifyPublisher } from '../apps/verification.ts';
import { OPERATOR } from '../audit/entries.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { APP, describe, onApp } from './apps.ts';
import { type Command, type Options, required, somethingToChange, withStorage } from './command.ts';

export const appIdentityCommands: Command[] = [
  {
    name: 'app identity',
    summary: 'Set who publishes an app; omitted settings stay unchanged, and the value none removes one',
    options: {
      app: APP,
      publisher: { value: 'NAME', help: 'Who publishes it; shown once it is verified' },
      homepage: { value: 'URL', help: 'Its homepage' },
      support: { value: 'URL', help: 'Where its users get help' },
      privacy: { value: 'URL', help: 'Its privacy policy' },
      terms: { value: 'URL', help: 'Its terms of service' },
      logo: { value: 'FILE', help: 'A PNG file of at most 256 kB, 32 to 512 pixels wide and high' },
    },
    needsOneOf: somethingToChange('publisher', 'homepage', 'support', 'privacy', 'terms', 'logo'),
    examples: [
      '--publisher "Northgate Software" --homepage https://northgate.example',
      '--logo logo.png',
      '--terms none',
    ],
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const appId = appIdOf(options.text('app'));
        const change = (before: App) => readIdentity(options, before.identity);
        const changed = required(await changeIdentity(OPERATOR, db, { appId, change }, systemClock()), 'app', 'app');
        return describe((await setLogo(db, appId, options.text('logo'))) ?? changed);
      }),
  },
  onApp('app verify', 'Verify the publisher of an app, until the app is changed', (db, app, now) =>
    verifyPublisher(OPERATOR, db, { appId: app.id }, now),
  ),
  onApp('app unverify', 'Remove the Verified publisher badge of an app', (db, app, now) =>
    removeVerification(OPERATOR, db, { appId: app.id }, now),
  ),
];

function readIdentity(options: Options, before: AppIdentity): AppIdentity {
  const read = (name: string, current: string | null) => {
    const text = options.text(name);
    return text === '' ? current : text === 'none' ? null : text;
  };
  return {
    publisherName: read('publisher', before.publisherName),
    homepageUrl: read('homepage', before.homepageUrl),
    supportUrl: read('support', before.supportUrl),
    privacyUrl: read('privacy', before.privacyUrl),
    termsUrl: read('terms', before.termsUrl),
  };
}

async function setLogo(db: Database, appId: string, path: string): Promise<App | undefined> {
  if (path === '') return undefined;
  if (path === 'none') return deleteLogo(OPERATOR, db, { appId }, systemClock());
  const file = await readFile(path).catch(() => {
    throw new FormError('logo', `${path} cannot be read.`);
  });
  return changeLogo(OPERATOR, db, { appId, file }, systemClock());
}
