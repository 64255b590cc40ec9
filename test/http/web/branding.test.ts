import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../../../src/server.ts';
import { JPEG, makePng, WEBP } from '../../support/images.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

const LOGO = `data:image/png;base64,${makePng().toString('base64')}`;
const mail = await startMailServer();
const server = await startTestServer({
  PLATFORM_NAME: 'Acme Cloud',
  PLATFORM_LOGO: LOGO,
  ACCENT_COLOR: '#0b6e4f,#7fe0c0',
  FOOTER_LINKS: 'Privacy=https://acme.example/privacy,Imprint=https://acme.example/imprint',
  ...mail.env,
});
const plain = await startTestServer();

async function pagesOf(at: typeof server): Promise<[string, string][]> {
  const browser = await at.signedIn();
  return [
    ['sign-in', (await at.browse().open('/sign-in')).text],
    ['consent', (await browser.open(at.authorizeUrl())).text],
    ['settings', (await browser.open('/settings/account')).text],
    ['an error', (await browser.open('/nowhere')).text],
    ['the reference', await (await fetch(`${at.api}/docs/errors`)).text()],
    ['an error of the API host', await (await fetch(`${at.api}/nowhere`)).text()],
  ];
}

test('every page has the logo, the color and the links of the platform', async () => {
  for (const [name, text] of await pagesOf(server)) {
    assert.match(
      text,
      /<link rel="stylesheet" href="\/assets\/gatehouse\.css[^>]*>\s*<link rel="stylesheet" href="\/assets\/brand\.css\?v=/,
      name,
    );
    assert.match(
      text,
      /<img class="brand-logo" src="\/assets\/brand-logo\?v=[\w-]{8}" alt="" height="24"><span>Acme Cloud/,
      name,
    );
    assert.match(
      text,
      /<footer.*href="https:\/\/acme\.example\/privacy" target="_blank" rel="noreferrer noopener">Privacy</s,
      name,
    );
  }
});

test('without these settings, a page has none of it', async () => {
  for (const [name, text] of await pagesOf(plain)) assert.doesNotMatch(text, /brand\.css|brand-logo|<footer/, name);
});

for (const file of ['brand.css', 'brand-logo']) {
  test(`${file} is served by both hosts, without cookies, and can be cached forever`, async () => {
    for (const [host, page] of [
      [server.web, '/sign-in'],
      [server.api, '/docs/errors'],
    ] as const) {
      const text = await (await fetch(host + page)).text();
      const [path = ''] = new RegExp(`/assets/${file}\\?v=[\\w-]+`).exec(text) ?? [];
      const response = await fetch(host + path);

      assert.equal(response.status, 200);
      assert.equal(response.headers.get('set-cookie'), null);
      assert.equal(
        response.headers.get('content-type'),
        file === 'brand.css' ? 'text/css; charset=utf-8' : 'image/png',
      );
      assert.match(response.headers.get('cache-control') ?? '', /immutable/);
      assert.match(response.headers.get('content-security-policy') ?? '', /sandbox/);
    }
  });
}

test('the stylesheet sets the color of each theme, and black or white on it', async () => {
  const css = await (await fetch(`${server.web}/assets/brand.css`)).text();
  const [light = '', dark = ''] = css.split('prefers-color-scheme: dark');

  assert.match(light, /--accent: #0b6e4f;.*--accent-ink: #ffffff;/s);
  assert.match(dark, /--accent: #7fe0c0;.*--accent-ink: #000000;/s);
});

test('a mail contains the logo and the color, and loads nothing from a server', async () => {
  const visitor = server.browse();
  await visitor.submit(await visitor.open('/password'), '/password', { email: server.ada.email });

  const received = await mail.waitFor(1);

  const [part] = received.attachments;
  assert.equal(part?.mimeType, 'image/png');
  assert.ok(received.html?.includes(`src="cid:${part?.contentId?.replace(/[<>]/g, '')}"`));
  assert.match(received.html ?? '', /background:#0b6e4f/);
  assert.doesNotMatch(received.html ?? '', /src="http/);
});

test('a logo whose pixels are damaged stops the start, with a sentence about the setting', async () => {
  const logo = makePng({ pixels: Buffer.from('no pixels') });
  const settings = { ...server.settings, branding: { ...server.settings.branding, logo } };

  await assert.rejects(startServer(settings), /^Error: PLATFORM_LOGO cannot be used\. The file is damaged/);
});

for (const [type, file] of [
  ['image/jpeg', JPEG],
  ['image/webp', WEBP],
] as const) {
  test(`a logo of the type ${type} is served as the operator gave it`, async () => {
    const given = Buffer.concat([file, Buffer.from('an EXIF orientation, or anything else')]);
    const { web } = await startTestServer({ PLATFORM_LOGO: `data:;base64,${given.toString('base64')}` });

    const logo = await fetch(`${web}/assets/brand-logo`);

    assert.equal(logo.headers.get('content-type'), type);
    assert.deepEqual(Buffer.from(await logo.arrayBuffer()), given);
  });
}
