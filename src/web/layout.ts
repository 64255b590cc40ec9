import type { FastifyReply } from 'fastify';
import type { Membership } from '../accounts/memberships.ts';
import type { User } from '../accounts/users.ts';
import { en, type Texts } from '../languages/en.ts';
import { type Html, html, toText } from '../lib/html.ts';
import { fontPath, iconPath, scriptPath, stylesheetPath } from './assets.ts';
import { type Branding, brandLogo, brandStyles, footer } from './branding.ts';
import { toast } from './components/display.ts';
import { navigation } from './navigation.ts';

export interface Page {
  title: Html | string;
  /** The texts of a hosted page. Other pages are in English. */
  texts?: Texts;
  platformName: string;
  body: Html;
  /** `narrow`: one card. `form`: settings. `reading`: text. `wide`: lists and tables. `full`: `body` has its own <main>. */
  width: 'narrow' | 'form' | 'reading' | 'wide' | 'full';
  /** Absent on pages that do not need a session. */
  context?: PageContext;
  /** Defaults to true with a `context`. Pages on which a user decides or enters credentials run no script. */
  runsScript?: boolean;
  /** Instead of the link to the stylesheet. */
  styles?: Html;
  /** Navigation in the bar of a page without `context`. */
  links?: Html;
  /** Allows <style> elements that have it. */
  styleNonce?: string;
}

export interface PageContext {
  user: User;
  csrf: string;
  /** The business that the address names; on other pages, the one that the user chose last. */
  current: Membership | undefined;
  memberships: Membership[];
  /** The URL at which this page can be opened again. */
  path: string;
  /** The menu entry to mark; defaults to `path`. They differ on the response to a form. */
  menuPath?: string;
  /** A confirmation (flash.ts). */
  flash?: string | undefined;
}

const UNUSED_FEATURES = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
  'xr-spatial-tracking',
];
const USED_FEATURES = ['publickey-credentials-create', 'publickey-credentials-get', 'clipboard-write'];
const PERMISSIONS = [
  ...UNUSED_FEATURES.map((feature) => `${feature}=()`),
  ...USED_FEATURES.map((feature) => `${feature}=(self)`),
].join(', ');

/** `formTargets`: browsers apply `form-action` to every redirect after a form, not only to its action. */
export function sendPage(
  reply: FastifyReply,
  page: Page,
  { status = 200, formTargets = [] }: { status?: number; formTargets?: string[] } = {},
): FastifyReply {
  const policy = [
    "default-src 'none'",
    `style-src 'self'${page.styleNonce ? ` 'nonce-${page.styleNonce}'` : ''}`,
    ...(runsScript(page) ? ["script-src 'self'", "connect-src 'self'"] : []),
    "img-src 'self'",
    "font-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
  ];
  return reply
    .code(status)
    .header('content-security-policy', policy.join('; '))
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .header('permissions-policy', PERMISSIONS)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(toText(renderPage(page, reply.server.branding)));
}

function runsScript({ runsScript, context }: Page): boolean {
  return runsScript ?? context !== undefined;
}

function renderPage(page: Page, branding: Branding): Html {
  const { title, platformName, body, width, context, links, styles, texts = en } = page;
  const logo = brandLogo(branding) ?? arch;
  return html`<!doctype html>
<html lang="${texts.tag}" dir="${texts.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${platformName}</title>
<link rel="preload" href="${fontPath}" as="font" type="font/woff2" crossorigin>
${styles ?? html`<link rel="stylesheet" href="${stylesheetPath}">`}
${brandStyles(branding)}
${branding.logo ? html`<link rel="icon" href="${branding.logo.path}">` : html`<link rel="icon" href="${iconPath}" type="image/svg+xml">`}
${runsScript(page) && html`<script type="module" src="${scriptPath}"></script>`}
</head>
<body class="${layoutOf(page)}">
<a class="skip" href="#main">${texts.layout.skip}</a>
<header class="bar" ${context && texts !== en && html`lang="en" dir="ltr"`}>
${context ? html`<a class="brand" href="/">${logo}<span>${platformName}</span></a>${navigation(context)}` : html`<div class="bar-inner ${width}"><span class="brand">${logo}<span>${platformName}</span></span>${links}</div>`}
</header>
${
  width === 'full'
    ? html`<div id="main">${body}</div>`
    : html`<main id="main" class="${width}">
${context?.flash && toast(context.flash)}
${body}
</main>
${footer(branding)}`
}
</body>
</html>`;
}

/** `hosted`: one card for people who come from an app. `plain`: text for everyone. */
function layoutOf({ context, width }: Page): 'app' | 'hosted' | 'plain' {
  if (context) return 'app';
  return width === 'narrow' ? 'hosted' : 'plain';
}

const arch = html`<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false"><path fill="currentColor" d="M3 22V3h3v2h3V3h6v2h3V3h3v19h-6v-7a3 3 0 0 0-6 0v7z"/></svg>`;

export function businessSelect({ layout }: Texts, { current, memberships }: PageContext): Html {
  const options = memberships.map(({ businessId, businessName }) => {
    const isCurrent = businessId === current?.businessId;
    return html`<option value="${businessId}" ${isCurrent && html`selected`}>${businessName}</option>`;
  });
  return html`<label><span class="visually-hidden">${layout.currentBusiness}</span><select name="business">${options}</select></label>`;
}
