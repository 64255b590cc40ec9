// `npx node docs/pictures/gallery.ts`: serves a page with every component of src/web/components, to look at while changing them. No
// server of the product has this page. `npm run pictures` keeps pictures of it, and a test measures it.
import fastify from 'fastify';
import { type Html, html } from '../../src/lib/html.ts';
import { mountAssets } from '../../src/web/assets.ts';
import { mountBranding } from '../../src/web/branding.ts';
import {
  avatar,
  badge,
  codeBlock,
  emptyState,
  notice,
  statusDot,
  type Tone,
  toast,
} from '../../src/web/components/display.ts';
import { type IconName, icon } from '../../src/web/components/icon.ts';
import { ICONS } from '../../src/web/components/icons.ts';
import { logEntry, logList, shortId } from '../../src/web/components/log.ts';
import { dialog, menu } from '../../src/web/components/popover.ts';
import {
  dangerZone,
  list,
  pageHead,
  question,
  section,
  segments,
  settings,
  table,
  tabs,
} from '../../src/web/components/structure.ts';
import { copyable, input, postForm, shortTime, time } from '../../src/web/forms.ts';
import { type PageContext, sendPage } from '../../src/web/layout.ts';

const AT = Date.UTC(2026, 10, 17, 12, 0, 1);

const BUSINESSES = ['Harbour Coffee', 'Northgate Software', 'Borealis Logistics International'].map(
  (businessName, i) => ({
    businessId: `business-${i}`,
    businessName,
    role: 'owner' as const,
  }),
);

export const CONTEXT = {
  user: { id: 'user-1', name: 'Olivia Marsh', email: 'olivia@harbour.example', isPlatformAdmin: true },
  csrf: 'x',
  current: BUSINESSES[0],
  memberships: BUSINESSES,
  path: '/businesses/business-0/members',
  flash: 'Saved.',
} as unknown as PageContext;

/** Listens on a free port unless one is given. */
export async function startGallery(port = 0) {
  const host = fastify();
  mountAssets(host);
  mountBranding(host, { logo: undefined, stylesheet: undefined, links: [] });
  host.get('/', (_, reply) =>
    sendPage(reply, {
      title: 'Components',
      platformName: 'Gatehouse',
      width: 'wide',
      context: CONTEXT,
      body: gallery(),
    }),
  );
  const url = await host.listen({ host: '127.0.0.1', port });
  return { url, close: () => host.close() };
}

function gallery(): Html {
  return html`${pageHead({
    title: 'Components',
    badges: badge('Gallery'),
    intro: 'Every component, as the pages use it.',
    back: { to: '/', name: 'Back' },
    actions: html`<a class="button" href="/">Secondary</a><a class="button primary" href="/">${icon('plus')}Primary</a>`,
  })}
${tabs('Sections', [
  { to: '/', name: 'Overview', isHere: true },
  { to: '/a', name: 'Requests', isHere: false },
  { to: '/b', name: 'Connections', isHere: false },
  { to: '/c', name: 'Webhooks', isHere: false },
  { to: '/d', name: 'Try it', isHere: false },
])}
${textSection}${marksSection}${listSection}${entrySection}${logSection}${tableSection}${formSection}${settingsSection}${popoverSection}
${emptyState({ title: 'No connected apps', text: 'Apps that members allow are listed here.', icon: 'blocks', action: html`<p><a class="button" href="/">Connect an assistant</a></p>` })}`;
}

const textSection = section({
  title: 'Text and code',
  id: 'text',
  intro: 'A section has a title and, if needed, one sentence.',
  body: html`<p>Body text with <a href="/">a link</a>, <strong>strong text</strong>, <code>code</code> and <span class="muted">muted text</span>.</p>
<dl class="facts"><div><dt>client_id</dt><dd>${copyable('client-id', '01a1ea1f-87cb-7000')}</dd></div>
<div><dt>Business</dt><dd>Harbour Coffee</dd></div></dl>
${codeBlock({ id: 'env', label: '.env', code: 'CLIENT_ID=01a1ea1f-87cb-7000\nCLIENT_SECRET=…' })}
${toast('Saved.')}${notice('What you allowed before stays allowed until you disconnect the app.')}
${notice(html`<strong>Copy the secret now.</strong> It is not shown again.`, 'caution')}
${notice('Gatehouse has paused this app everywhere.', 'warn')}`,
});

const marksSection = section({
  title: 'Badges, status, avatars and icons',
  id: 'marks',
  body: html`<p>${badge('Owner')} ${badge('Delivered', 'good')} ${badge('Expires soon', 'caution')} ${badge('Disabled', 'warn')}</p>
<p>${statusDot('Idle')} ${statusDot('Active', 'good')} ${statusDot('Slow', 'caution')} ${statusDot('Failing', 'warn')}</p>
<p>${['Olivia Marsh', 'Sam Okafor', 'Priya Nair', 'Kim', 'Ann Lee', 'Jo Day', 'Max Ernst', 'Eve Fox'].map((name) => html`${avatar({ name, id: name })} `)}</p>
<p>${['Harbour', 'Northgate', 'Ledgerly', 'Parcelwise'].map((name) => html`${avatar({ name, id: name, shape: 'square' })} `)}
${avatar({ name: 'Ledgerly', id: 'x', shape: 'square', size: 'lg' })} ${avatar({ name: 'Kim Lee', id: 'y', size: 'sm' })}</p>
<p>${Object.keys(ICONS).map((name) => html`${icon(name as IconName)} `)}</p>`,
});

const listSection = list(
  ['Olivia Marsh', 'Sam Okafor'].map(
    (name) =>
      html`<li><div class="with-avatar">${avatar({ name, id: name })}<div><strong>${name}</strong> ${badge('Member')}<p class="muted small">${name.split(' ')[0]}@harbour.example</p></div></div><a class="button quiet" href="/" aria-label="Manage ${name}">Manage</a></li>`,
  ),
);

const entrySection = list(
  ['Ledgerly', 'Parcelwise'].map(
    (name) =>
      html`<li class="entry">${avatar({ name, id: name, shape: 'square' })}<div><a href="/">${name}</a> ${badge('AI assistant')}
<p class="muted small">Olivia Marsh</p></div>
<div class="meta muted small">${statusDot('Until disconnected', 'good')}<span>Last used ${time(AT)}</span></div>
<a class="button danger" href="/" aria-label="Disconnect ${name}">Disconnect…</a></li>`,
  ),
);

const logSection = section({
  title: 'Log',
  id: 'log',
  intro: 'One line per entry; all of it leads to the page of the entry.',
  actions: segments('Status of requests', [
    { to: '/', name: 'All', isHere: true },
    { to: '/e', name: 'Errors', isHere: false },
  ]),
  body: logList('Requests', [
    logged({ text: '200', tone: 'good' }, 'POST /api/v1/oauth/token', ['refresh_token', 'Harbour Coffee']),
    logged({ text: '401', tone: 'caution' }, 'GET /api/v1/accounting/invoices', ['access_token_expired']),
    logged({ text: '500', tone: 'warn' }, 'GET /api/v1/crm/contacts', ['Borealis Logistics International']),
  ]),
});

function logged(status: { text: string; tone: Tone }, title: string, about: string[]): Html {
  const id = shortId('01a1ea1f-87cb-7000-8f00-5d1c2b3a4f60', 'request id');
  return logEntry({ to: '/', status, title, about, at: shortTime(AT), took: 12, id });
}

const tableSection = section({
  title: 'Table',
  id: 'requests-table',
  intro: 'On a phone each row is a block.',
  body: table({
    label: 'Requests',
    columns: ['Time', 'Request', 'Status'],
    rows: [
      ['12:00:01', html`<code>POST /api/v1/oauth/token</code>`, statusDot('200', 'good')],
      ['12:00:00', html`<code>GET /api/v1/invoices</code>`, statusDot('401', 'warn')],
    ],
  }),
});

const formSection = section({
  title: 'Form',
  id: 'form',
  body: postForm({
    action: '/',
    csrf: 'x',
    body: html`${input({ name: 'name', label: 'App name', hint: 'Shown to users on the consent screen.', value: 'Ledgerly' })}
${input({ name: 'uri', label: 'Redirect URI', value: 'nowhere' }, { field: 'uri', message: 'This is not a complete URL.' })}
<div class="field"><label for="role">Role</label><select id="role" name="role"><option>Member</option></select></div>
<fieldset class="field"><legend>Who can connect it</legend>
<label class="choice"><input type="radio" name="who" checked><span>Only this business</span></label>
<label class="choice"><input type="radio" name="who"><span>Any business</span></label>
<label class="choice"><input type="checkbox" name="pkce" checked><span>Require PKCE on every request</span></label></fieldset>
<div class="actions"><button class="primary">Save</button><button>Secondary</button><button class="danger">Delete…</button><button class="quiet">Quiet</button></div>`,
  }),
});

const settingsSection = html`${settings({
  title: 'Settings',
  intro: 'What the section is about is on the left, its fields are on the right.',
  body: postForm({
    action: '/',
    csrf: 'x',
    body: html`${input({ name: 'person', label: 'Name', value: 'Olivia Marsh' })}<button class="primary">Change name</button>`,
  }),
})}
${question({
  title: 'Delete Ledgerly?',
  body: html`<p>It is connected by <strong>2 businesses, 3 users</strong> right now.</p>
<div class="form-actions"><a class="button" href="/">Cancel</a><button class="danger">Delete app</button></div>`,
})}
${dangerZone([
  {
    title: 'Delete the app',
    text: 'Deleting cannot be undone.',
    action: html`<a class="button danger" href="/">Delete…</a>`,
  },
])}`;

const popoverSection = section({
  title: 'Menu and dialog',
  id: 'popovers',
  body: html`<div class="actions"><div>${menu({ id: 'more', label: 'More:', button: html`<span>Ledgerly</span>${icon('chevrons-up-down')}`, body: html`<a href="/">${icon('copy')}Copy the id</a><a href="/">${icon('log-out')}Disconnect</a>` })}</div>
${dialog({
  id: 'confirm',
  open: 'Disconnect…',
  title: 'Disconnect Ledgerly?',
  text: 'It loses its access to Harbour Coffee at once.',
  action: postForm({ action: '/', csrf: 'x', body: html`<button class="danger">Disconnect</button>` }),
})}</div>`,
});

if (import.meta.main) console.log(`The gallery is at ${(await startGallery(4800)).url}`);
