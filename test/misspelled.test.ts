import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMisspelled, listSettingNames } from '../src/config/misspelled.ts';
import { SETTINGS } from './deploy/files.ts';

test('the settings that the server reads are those of the reference', () => {
  assert.deepEqual(listSettingNames().sort(), [...SETTINGS].sort());
});

test('a variable that resembles a setting is found with that setting, also with a prefix or as a file', () => {
  const misspelled = {
    BASE_URI: 'BASE_URL',
    SECRET_KEY: 'SECRET_KEYS',
    TRUSTED_PROXY: 'TRUST_PROXY',
    CONSENT_LISTN: 'CONSENT_LISTEN',
    LIMIT_PER_APPS: 'LIMIT_PER_APP',
    log_level: 'LOG_LEVEL',
    GATEHOUSE_DATABASE_URL: 'DATABASE_URL',
    MAIL_FROM_FILE: 'MAIL_FROM',
  };

  const found = findMisspelled(Object.fromEntries(Object.keys(misspelled).map((name) => [name, 'x'])));

  assert.deepEqual(Object.fromEntries(found.map(({ name, setting }) => [name, setting])), misspelled);
});

test('settings, and variables of the system and of other programs, resemble none', () => {
  const names =
    'PATH HOME MAIL USER LANG LOGNAME NODE_ENV LISTEN_FDS LISTEN_PID PGHOST TERM SHELL HOSTNAME NOTIFY_SOCKET';
  const others = [
    ...names.split(' '),
    'NODE_EXTRA_CA_CERTS',
    'KUBERNETES_SERVICE_HOST',
    'INVOCATION_ID',
    'JOURNAL_STREAM',
  ];

  assert.deepEqual(findMisspelled(Object.fromEntries([...SETTINGS, ...others].map((name) => [name, 'x']))), []);
});
