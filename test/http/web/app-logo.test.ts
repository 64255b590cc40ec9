import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { sha256 } from '../../../src/lib/secrets.ts';
import { PLATFORM } from '../../support/app-pages.ts';
import { type Browser, hiddenFields } from '../../support/browser.ts';
import { JPEG, makePng, WEBP } from '../../support/images.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const owner = await server.signedIn();
const BASE = server.acmePath('developer');
const PATH = `${BASE}/${server.ledger.id}`;
const SCRIPT = Buffer.from('<script>alert(document.domain)</script>');

interface Upload {
  path?: string;
  csrf?: string;
  /** The name and type that the browser sends for the file. */
  name?: string;
  type?: string;
  headers?: Record<string, string>;
}

/** The form as a browser sends it, with the token of a page of this browser. */
async function upload(browser: Browser, file: Buffer, options: Upload = {}): Promise<{ status: number; text: string }> {
  const { path = PATH, name = 'logo.png', type = 'image/png', headers = {} } = options;
  const csrf = options.csrf ?? hiddenFields((await browser.open('/sign-out')).text, '/sign-out').csrf ?? '';
  const body = new FormData();
  body.set('csrf', csrf);
  body.set('logo', new Blob([new Uint8Array(file)], { type }), name);
  const response = await browser.fetch(`${path}/logo`, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
}

async function logoOf(appId = server.ledger.id): Promise<string | null> {
  const apps = server.storage().durable.selectFrom('apps').select('logo_hash').where('id', '=', appId);
  return (await apps.executeTakeFirstOrThrow()).logo_hash;
}

test('a PNG that an owner uploads is the logo of the app, served with the type that its content has', async () => {
  // The declared type and name are wrong on purpose.
  const { status } = await upload(owner, makePng(), { type: 'text/html', name: '../../<script>.html' });

  assert.equal(status, 303);
  const logo = await fetch(`${server.web}/logos/${await logoOf()}`);
  assert.equal(logo.status, 200);
  assert.equal(logo.headers.get('content-type'), 'image/png');
  assert.ok((await logo.arrayBuffer()).byteLength > 50);
});

for (const [type, file] of [
  ['image/jpeg', JPEG],
  ['image/webp', WEBP],
] as const) {
  test(`a logo of the type ${type} that was stored before is served as it is`, async () => {
    const app = await server.addApp({ ownerBusinessId: server.acme.id });
    const hash = sha256(file);
    const { durable } = server.storage();
    await durable.insertInto('app_logos').values({ app_id: app.id, hash, type, bytes: file }).execute();
    await durable.updateTable('apps').set({ logo_hash: hash }).where('id', '=', app.id).execute();

    const page = await owner.open(`${BASE}/${app.id}/identity`);
    const logo = await fetch(`${server.web}/logos/${hash}`);

    assert.ok(page.text.includes(`src="/logos/${hash}"`));
    assert.equal(logo.headers.get('content-type'), type);
    assert.deepEqual(Buffer.from(await logo.arrayBuffer()), file);
  });
}

test('the page for the logo asks for a PNG, and the browser offers no other files', async () => {
  const { text } = await owner.open(`${PATH}/identity`);

  assert.match(text, /id="logo-hint">A PNG file, at most 256 kB/);
  assert.match(text, /type="file" accept="image\/png" /);
});

test('a logo is served without cookies, with a policy that runs nothing, and can be cached forever', async () => {
  await upload(owner, makePng());
  const response = await owner.fetch(`/logos/${await logoOf()}`);

  assert.equal(response.headers.get('set-cookie'), null);
  assert.equal(response.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'; sandbox");
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin');
  assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(response.headers.get('content-disposition'), null);
});

test('a platform admin sees the logo of an app beside its name', async () => {
  await upload(owner, makePng());
  const admin = await server.signedIn(await server.addUser('Pat', [], true));

  const { text } = await admin.open(`/platform/apps/${server.ledger.id}`);

  const [before = ''] = text.split('<h1>');
  assert.ok(before.includes(`src="/logos/${await logoOf()}"`));
});

test('a request for a logo, existing or not, sets no cookie', async () => {
  await upload(owner, makePng());
  for (const hash of [await logoOf(), 'x', 'A'.repeat(43), '..%2F..%2Fetc%2Fpasswd']) {
    const response = await fetch(`${server.web}/logos/${hash}`);

    assert.equal(response.headers.get('set-cookie'), null);
  }
});

test('metadata of a picture is not stored', async () => {
  const picture = makePng({ chunks: [['eXIf', Buffer.from('MM\0*\0\0\0\x08 51.5007 N 0.1246 W', 'latin1')]] });
  assert.equal((await upload(owner, picture)).status, 303);

  const stored = await server.storage().durable.selectFrom('app_logos').select('bytes').execute();

  assert.ok(stored.every(({ bytes }) => !Buffer.from(bytes).includes('51.5007')));
});

const HOSTILE: Record<string, [file: Buffer, sentence: RegExp]> = {
  'an SVG': [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), /^A logo is a PNG file/],
  'a page': [Buffer.from('<!doctype html><script>alert(1)</script>'), /^A logo is a PNG file/],
  'a JPEG': [JPEG, /^This is a JPEG file.* save it as PNG/],
  'a WebP': [WEBP, /^This is a WebP file.* save it as PNG/],
  'a page behind the first bytes of a PNG': [Buffer.concat([makePng().subarray(0, 8), SCRIPT]), /cut off|damaged/],
  'an image with a page behind it': [Buffer.concat([makePng(), SCRIPT]), /something else after the image/],
  'a PNG that decompresses to more than it says': [makePng({ width: 32, pixels: bomb() }), /damaged/],
  'a PNG with huge dimensions': [makePng({ width: 50_000, height: 50_000, pixels: bomb() }), /50000 × 50000 pixels/],
  'a file of 300 kB': [Buffer.concat([JPEG, Buffer.alloc(300_000)]), /larger than 256 kB/],
  'an empty file': [Buffer.alloc(0), /Choose a file/],
};

function bomb(): Buffer {
  return deflateSync(Buffer.alloc(50_000_000));
}

for (const [name, [file, sentence]] of Object.entries(HOSTILE)) {
  test(`${name} is rejected at its field, and the logo stays as it was`, async () => {
    await upload(owner, makePng());
    const before = await logoOf();

    const { status, text } = await upload(owner, file);

    assert.equal(status, 400);
    assert.match(/id="logo-problem">([^<]*)</.exec(text)?.[1] ?? '', sentence);
    assert.equal(await logoOf(), before);
  });
}

test('a body of 10 MB is rejected by its length, in a sentence that says how large a logo may be', async () => {
  const { status, text } = await upload(owner, Buffer.alloc(10_000_000));

  assert.equal(status, 413);
  assert.match(text, /at most 256 kB/);
});

test('an upload without a length is rejected', async () => {
  const body = new Blob(['--x']).stream();
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit;

  assert.equal((await owner.fetch(`${PATH}/logo`, init)).status, 413);
});

for (const [name, body] of Object.entries({
  'without a boundary': 'nothing',
  'that is cut off': '--x\r\ncontent-disposition: form-data; name="logo"; filename="a"\r\n\r\nabc',
  'with a field that would change a prototype':
    '--x\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\n1\r\n--x--',
  'with more fields than the form has': `${'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(50)}--x--`,
  'with two files': `${'--x\r\ncontent-disposition: form-data; name="logo"; filename="a"\r\n\r\n1\r\n'.repeat(2)}--x--`,
})) {
  test(`an upload ${name} is a bad request, and no error of the server`, async () => {
    const type = name === 'without a boundary' ? 'multipart/form-data' : 'multipart/form-data; boundary=x';
    const response = await owner.fetch(`${PATH}/logo`, { method: 'POST', body, headers: { 'content-type': type } });

    assert.ok(response.status >= 400 && response.status < 500, String(response.status));
  });
}

test('an upload without the token of a page, or from another site, stores nothing [D1]', async () => {
  await upload(owner, makePng());
  const before = await logoOf();

  assert.equal((await upload(owner, makePng(), { csrf: 'forged' })).status, 403);
  assert.equal((await upload(owner, makePng(), { headers: { origin: 'https://evil.example' } })).status, 403);
  assert.equal((await upload(owner, makePng(), { headers: { 'sec-fetch-site': 'cross-site' } })).status, 403);

  assert.equal(await logoOf(), before);
});

test('only owners and admins of the business can change the logo of its apps [D5]', async () => {
  const other = await server.addBusiness('Other');
  const people: [string, Browser, number][] = [
    ['a member', await server.signedIn(await server.addUser('Mia', [[server.acme, 'member']])), 404],
    ['an owner of another business', await server.signedIn(await server.addUser('Oz', [[other, 'owner']])), 404],
    ['a platform admin', await server.signedIn(await server.addUser('Root', [], true)), 404],
    ['a visitor', server.browse(), 303],
    ['an admin', await server.signedIn(await server.addUser('Amy', [[server.acme, 'admin']])), 303],
  ];
  const { logo_hash: before } = await server
    .storage()
    .durable.selectFrom('apps')
    .select('logo_hash')
    .where('id', '=', server.ledger.id)
    .executeTakeFirstOrThrow();
  for (const [name, browser, expected] of people) {
    const { status } = await upload(browser, makePng({ color: [1, 2, 3] }));

    assert.equal(status, expected, name);
    assert.equal((await logoOf()) === before, name !== 'an admin', name);
  }
});

test('an app of another business cannot be reached below the path of one’s own [D5]', async () => {
  const other = await server.addBusiness('Third');
  const theirs = await server.addApp({ ownerBusinessId: other.id });
  const first = await server.addApp({ ownerBusinessId: null });

  for (const app of [theirs, first]) {
    assert.equal((await upload(owner, makePng(), { path: `${BASE}/${app.id}` })).status, 404);
    assert.equal(await logoOf(app.id), null);
  }
  const root = await server.signedIn(await server.addUser('Super', [], true));
  assert.equal((await upload(root, makePng(), { path: `${PLATFORM}/${theirs.id}` })).status, 404);
  assert.equal((await upload(root, makePng(), { path: `${PLATFORM}/${first.id}` })).status, 303);
});

test('a logo that is removed, and that of a deleted app, is no longer served', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const path = `${BASE}/${app.id}`;
  const hashes: (string | null)[] = [];
  for (const action of ['logo/remove', 'delete']) {
    await upload(owner, makePng({ color: [hashes.length, 200, 7] }), { path });
    hashes.push(await logoOf(app.id));
    assert.equal((await fetch(`${server.web}/logos/${hashes.at(-1)}`)).status, 200);

    const page = await owner.open(action === 'delete' ? `${path}/delete` : `${path}/identity`);
    await owner.submit(page, `${path}/${action}`);

    assert.equal((await fetch(`${server.web}/logos/${hashes.at(-1)}`)).status, 404);
  }
});

test('each change of a logo is in the audit log', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  await upload(owner, makePng(), { path: `${BASE}/${app.id}` });

  const entries = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', app.id);
  const [entry] = await entries.execute();

  assert.equal(entry?.action, 'app.changed');
  assert.equal(entry?.actor_name, 'Ada');
  assert.deepEqual(JSON.parse(entry?.detail ?? ''), { changed: 'logo' });
});
