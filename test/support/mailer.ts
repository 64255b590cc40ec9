import { LANGUAGES } from '../../src/languages/languages.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import type { Mailer } from '../../src/mail/mails.ts';

/** A mailer for tests that queue mail but run no server. */
export const TEST_MAILER: Mailer = {
  isOn: true,
  keys: createKeyring(['the-key-that-the-tests-sign-their-tokens-with']),
  origin: 'https://a.example',
  platformName: 'Gatehouse',
  languages: LANGUAGES,
  count() {},
};
