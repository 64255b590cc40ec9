import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_IDENTITY } from '../../src/apps/app.ts';
import { readDocument, readRegistration } from '../../src/apps/client-metadata.ts';

const RULES = { defaultName: 'assistant.example', privateSchemes: [] };
const DOCUMENT = { redirect_uris: ['https://assistant.example/callback'] };
const LINKS = {
  client_uri: 'https://assistant.example/',
  policy_uri: 'https://assistant.example/privacy',
  tos_uri: 'https://assistant.example/terms',
};

test('the pages of an external client are shown if they are on the host of its document', () => {
  const { identity } = readDocument({ ...DOCUMENT, ...LINKS }, { ...RULES, host: 'assistant.example' });

  assert.deepEqual(identity, {
    ...NO_IDENTITY,
    homepageUrl: LINKS.client_uri,
    privacyUrl: LINKS.policy_uri,
    termsUrl: LINKS.tos_uri,
  });
});

for (const [name, links] of Object.entries({
  'on another host': { client_uri: 'https://bank.example/', policy_uri: 'https://assistant.example.evil.example/' },
  'on a host above or below it': { client_uri: 'https://www.assistant.example/', policy_uri: 'https://example/' },
  'on another port': { client_uri: 'https://assistant.example:8443/' },
  'without https': { client_uri: 'http://assistant.example/' },
  'that is a script': { client_uri: 'javascript:alert(1)//assistant.example/' },
  'that is no text': { client_uri: ['https://assistant.example/'], policy_uri: 7, tos_uri: null },
  'that is a logo': { logo_uri: 'https://assistant.example/logo.png' },
})) {
  test(`a page of an external client ${name} is left out, and the client can be used`, () => {
    const metadata = readDocument({ ...DOCUMENT, ...links }, { ...RULES, host: 'assistant.example' });

    assert.deepEqual(metadata.identity, NO_IDENTITY);
  });
}

test('a client that registers itself has no host, so none of its pages is shown', () => {
  assert.deepEqual(readRegistration({ ...DOCUMENT, ...LINKS }, RULES).identity, NO_IDENTITY);
});
