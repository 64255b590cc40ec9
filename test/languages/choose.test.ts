import assert from 'node:assert/strict';
import { test } from 'node:test';
import { de } from '../../src/languages/de.ts';
import { en } from '../../src/languages/en.ts';
import { createFormats } from '../../src/languages/formats.ts';
import { chooseLanguage, LANGUAGES } from '../../src/languages/languages.ts';

type Preferences = Parameters<typeof chooseLanguage>[1];
const chosen = (preferences: Preferences) => chooseLanguage(LANGUAGES, preferences).tag;

test('the app decides before the user, the user before the browser, and English is the default', () => {
  assert.equal(chosen({ uiLocales: 'en', setting: 'de', acceptLanguage: 'de' }), 'en');
  assert.equal(chosen({ uiLocales: 'fr', setting: 'de', acceptLanguage: 'en' }), 'de');
  assert.equal(chosen({ setting: null, acceptLanguage: 'de' }), 'de');
  assert.equal(chosen({ setting: 'fr', acceptLanguage: 'fr' }), 'en');
  assert.equal(chosen({}), 'en');
});

test('a regional tag finds its language, in any case of letters', () => {
  assert.equal(chosen({ uiLocales: 'de-AT' }), 'de');
  assert.equal(chosen({ uiLocales: 'DE-Latn-CH-1996' }), 'de');
  assert.equal(chosen({ uiLocales: 'fr-CA de-AT en' }), 'de');
  assert.equal(chosen({ uiLocales: 'deu' }), 'en');
});

test('the weights of Accept-Language decide, and 0 means never', () => {
  assert.equal(chosen({ acceptLanguage: 'en;q=0.5, de;q=0.8' }), 'de');
  assert.equal(chosen({ acceptLanguage: 'fr, de-CH;q=0.9, en;q=0.8' }), 'de');
  assert.equal(chosen({ acceptLanguage: 'de;q=0, en' }), 'en');
  assert.equal(chosen({ acceptLanguage: '*' }), 'en');
  assert.equal(chosen({ acceptLanguage: 'de ; q=0.3 , en ; q=0.2' }), 'de');
});

test('a hostile value is ignored, and is parsed quickly', () => {
  const hostile = [
    '-',
    '--',
    '-de',
    ' ',
    ';;;,,,q=',
    'de;q=NaN',
    'de;q=-1',
    'de;q=2',
    '__proto__',
    'constructor',
    '../../en',
    'd\u0000e',
    '<script>',
    'x'.repeat(100_000),
    `${'a-'.repeat(50_000)}de`,
    `${'fr,'.repeat(50_000)}de`,
    `${'fr '.repeat(50_000)}de`,
  ];
  for (const value of hostile) {
    assert.equal(chosen({ uiLocales: value }), 'en', value.slice(0, 20));
    assert.equal(chosen({ setting: value }), 'en', value.slice(0, 20));
    assert.equal(chosen({ acceptLanguage: value }), 'en', value.slice(0, 20));
  }
});

test('numbers, plurals and dates follow the language', () => {
  const time = Date.UTC(2030, 2, 4, 15, 6);

  assert.equal(de.formats.number(12_345.6), '12.345,6');
  assert.equal(de.formats.day(time), '04.03.2030');
  assert.equal(en.formats.day(time), '4 Mar 2030');
  assert.equal(de.formats.time(time), '04.03.2030, 15:06 UTC');
  assert.equal(de.consent.days(1), '1 Tag');
  assert.equal(de.consent.days(90), '90 Tage');
  const polish = createFormats('pl').count;
  const days = { one: '# dzień', few: '# dni', many: '# dni', other: '# dnia' };
  assert.deepEqual(
    [1, 3, 5].map((count) => polish(count, days)),
    ['1 dzień', '3 dni', '5 dni'],
  );
  assert.equal(createFormats('ar-EG').count(3, { other: '#' }), '٣');
});

test('the text about too many attempts says how long to wait', () => {
  const waits = [1, 90, 121].map((seconds) => [en, de].map(({ problems }) => problems.tooManyAttempts(seconds)));

  assert.deepEqual(waits, [
    ['Too many attempts. Try again in 1 second.', 'Zu viele Versuche. Versuchen Sie es in 1 Sekunde erneut.'],
    ['Too many attempts. Try again in 90 seconds.', 'Zu viele Versuche. Versuchen Sie es in 90 Sekunden erneut.'],
    ['Too many attempts. Try again in 3 minutes.', 'Zu viele Versuche. Versuchen Sie es in 3 Minuten erneut.'],
  ]);
});
