import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { toText } from '../../src/lib/html.ts';
import { ASSISTANTS } from '../../src/web/settings/assistants.ts';
import { startDocumentHost } from '../support/client-document-host.ts';
import { openGuide, ROOT } from '../support/guides.ts';
import { startTestServer } from '../support/test-server.ts';

// It has no code blocks: this fails if one is added that no test runs.
openGuide('connect-an-assistant');
const text = readFileSync(join(ROOT, 'docs/guides/connect-an-assistant.md'), 'utf8');

/** The rows of the table in a section: first cell, and the rest. */
function rowsOf(section: string): Map<string, string> {
  const [, body = ''] = text.split(`## ${section}\n`);
  const [own = ''] = body.split('\n## ');
  const rows = own.matchAll(/^\| ([^|]+?) \| (.+) \|$/gm);
  return new Map([...rows].map(([, first = '', rest = '']) => [first, rest]));
}

test('the guide has the assistants of the page, with the words of its steps', () => {
  const rows = rowsOf('Add it to the assistant');
  const page = ASSISTANTS.map(({ name, steps }) => ({ name, steps: steps('ADDRESS').map(toText).join(' ') }));

  for (const { name, steps } of page) {
    const words = [...(rows.get(name) ?? '').matchAll(/\*\*(.+?)\*\*/g)].map(([, word = '']) => word);
    assert.ok(rows.has(name), name);
    for (const word of words) assert.ok(steps.includes(`<strong>${word}</strong>`), `${name}: ${word}`);
  }
});

test('the guide names the host of each assistant, and settings that exist', () => {
  const settings = readFileSync(join(ROOT, 'docs/reference/settings.md'), 'utf8');
  const rows = rowsOf('For operators');

  for (const { name, documentHost } of ASSISTANTS) {
    if (documentHost) assert.match(rows.get('`CLIENT_ID_METADATA`') ?? '', new RegExp(`${name}.*\`${documentHost}\``));
  }
  for (const name of [...rows.keys()].filter((key) => key.startsWith('`'))) {
    assert.ok(settings.includes(`| ${name} |`), name);
  }
});

test('the sentences that the guide quotes are those of the pages', async () => {
  const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const documents = await startDocumentHost();
  documents.respondWith((_, response) => response.writeHead(500).end());
  const request = { client_id: documents.newClientId(), resource: `${server.api}/mcp` };
  const browser = await server.signedIn();

  const failed = await browser.open(server.authorizeUrl(request));

  assert.match(failed.text, /The metadata document of this app at \S+ cannot be used/);
  assert.match(text, /The metadata document of this app cannot be used/);
});
