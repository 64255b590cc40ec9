import type { App, AppIdentity } from '../apps/apps.ts';
import { en } from '../languages/en.ts';
import { type Html, html } from '../lib/html.ts';
import { avatar, badge } from './components/display.ts';
import { logoPath } from './logos.ts';

/** The logo, or the first letter of the name. Decorative: the name is beside it. */
export function appAvatar({ id, name, logoHash }: Pick<App, 'id' | 'name' | 'logoHash'>, size?: 'sm' | 'lg'): Html {
  if (logoHash === null) return avatar({ name, id, shape: 'square', ...(size && { size }) });
  return html`<img class="avatar square logo ${size}" src="${logoPath(logoHash)}" alt="" width="48" height="48">`;
}

export function verifiedBadge({ verifiedAt }: Pick<App, 'verifiedAt'>, { consent } = en): Html | null {
  return verifiedAt === null ? null : badge(consent.verified, 'good');
}

/** In a new tab, so that a form on the page is not lost. */
export function outboundLink(url: string, text: string): Html {
  return html`<a href="${url}" target="_blank" rel="noreferrer noopener">${text}</a>`;
}

const LINKS = ['supportUrl', 'privacyUrl', 'termsUrl'] as const;

/** The homepage is named by its host, in ASCII: people recognise it, and an imitated name is shown as xn--. */
export function appLinks(identity: AppIdentity, { consent } = en): Html | null {
  const { homepageUrl } = identity;
  const links = LINKS.flatMap((field) => {
    const { [field]: url } = identity;
    return url === null ? [] : [outboundLink(url, consent.links[field])];
  });
  const all = homepageUrl === null ? links : [outboundLink(homepageUrl, new URL(homepageUrl).host), ...links];
  return all.length === 0 ? null : html`<ul class="app-links small">${all.map((link) => html`<li>${link}</li>`)}</ul>`;
}
