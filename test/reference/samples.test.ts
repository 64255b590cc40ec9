import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { REDIRECT_URI } from '../support/fixtures.ts';
import { redirectParams } from '../support/raw-http.ts';
import { startTestServer } from '../support/test-server.ts';
import { fetchDocument } from './document.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const groups = ['authorization', 'business-api', 'webhooks', 'operations'];
const pages = await Promise.all(groups.map(async (name) => (await fetch(`${server.api}/docs/${name}`)).text()));
const page = pages.join('\n');

const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
const samples = [...page.matchAll(/<pre class="sample"><code>(curl .*?)<\/code>/gs)].map(([, text = '']) =>
  text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? ''),
);

/** What a reader puts in: their own app, and what it has been given so far. */
async function fillIn(sample: string): Promise<string> {
  const [, verifier = ''] = /"code_verifier": "([^"]+)"/.exec(sample) ?? [];
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = await server.allow({ code_challenge, code_challenge_method: 'S256' }, browser);
  const { access_token, refresh_token } = await server.connect({}, browser);
  return sample
    .replace(/"client_id": "[^"]+"|client_id=[^&']+/, (found) => found.replace(/[0-9a-f-]{36}/, server.ledger.id))
    .replace('gcs_…', server.ledger.secret)
    .replace('gac_…', code)
    .replace(/gat_…|\$ACCESS_TOKEN/, access_token)
    .replace('grt_…', refresh_token)
    .replace('$CLIENT_ID:$CLIENT_SECRET', `${server.ledger.id}:${server.ledger.secret}`)
    .replace('$BUSINESS_ID', server.acme.id)
    .replace('https://app.example/callback', REDIRECT_URI);
}

/** As much of curl as the samples use. */
function run(sample: string): Promise<Response> {
  const [, method = 'GET'] = / -X (\w+)/.exec(sample) ?? [];
  const [, url = ''] = /'(https?:[^']+)'/.exec(sample) ?? [];
  const [, body] = / -d '([^']+)'/.exec(sample) ?? [];
  const headers = [...sample.matchAll(/ -H ['"]([^:]+): ([^'"]+)['"]/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  const [, user] = / -u "([^"]+)"/.exec(sample) ?? [];
  const basic = user && { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  return fetch(url, { method, headers: { ...Object.fromEntries(headers), ...basic }, body, redirect: 'manual' });
}

test('the reference has a sample of every call that a program makes, and of both grant types', async () => {
  const paths = Object.keys((await fetchDocument(server.api)).paths).filter((path) => !path.endsWith('/authorize'));
  const shown = samples.map(nameOf);

  for (const path of paths)
    assert.ok(
      shown.some((name) => name.split(' ')[0] === path),
      path,
    );
  for (const grant of ['authorization_code', 'refresh_token']) assert.ok(shown.some((name) => name.endsWith(grant)));
});

for (const sample of samples) {
  test(`a sample of the reference works once it is filled in: ${nameOf(sample)}`, async () => {
    const filled = await fillIn(sample);

    const answer = await run(filled);

    assert.ok(answer.status < 400, `${answer.status} ${await answer.text()}`);
    assert.equal(redirectParams(answer.headers.get('location')).error_description, undefined);
    assert.doesNotMatch(filled, /…(?!')|\$[A-Z]/, 'nothing is left to fill in');
  });
}

function nameOf(sample: string): string {
  const [, path = ''] = /'https?:\/\/[^/]+([^'?]+)/.exec(sample) ?? [];
  const [, grant = ''] = /"grant_type": "(\w+)"/.exec(sample) ?? [];
  return `${path} ${grant}`.trim();
}
