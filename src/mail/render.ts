import type { Texts } from '../languages/en.ts';
import type { MailText } from '../languages/texts.ts';
import { type BrandingSettings, inkOn } from '../lib/branding.ts';
import { formatColor } from '../lib/colors.ts';
import { html, toText } from '../lib/html.ts';
import { markUpNoLinks, noLinks, noLinksInNames } from './no-links.ts';

interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

interface Context {
  texts: Texts;
  /** The name of the recipient; undefined if it is unknown. */
  name: string | undefined;
  /** An absolute URL, for kinds with an action. */
  link: string | undefined;
  platformName: string;
  brand?: MailBrand | undefined;
}

/** The look of the platform. Undefined without one. */
export function mailBrand({ accent, logo }: BrandingSettings): MailBrand | undefined {
  if (!accent && !logo) return undefined;
  const colors = accent && { fill: formatColor(accent.light), ink: formatColor(inkOn(accent.light)) };
  return { ...DEFAULT_BRAND, ...colors, hasLogo: logo !== undefined };
}

export interface MailBrand {
  /** The colors of the button and of the text on it. */
  fill: string;
  ink: string;
  /** Whether the transport attaches the logo of the platform. */
  hasLogo: boolean;
}

const DEFAULT_BRAND: MailBrand = { fill: '#1f4fd8', ink: '#fff', hasLogo: false };

/** The Content-ID of the logo (RFC 2392). */
export const LOGO_ID = 'logo@platform';

/** Renders the words as plain text and as HTML, without remote content: a logo is part of the mail. */
export function renderMail(
  words: MailText,
  { texts, name, link, platformName, brand = DEFAULT_BRAND }: Context,
): RenderedMail {
  const greeting = name === undefined ? texts.mail.greeting : texts.mail.greetingTo(name);
  const { subject, paragraphs, action, closing = [] } = words;
  const opening = [noLinks(greeting), ...paragraphs.map(noLinksInNames)];
  const text = [...opening, ...(link ? [link] : []), ...closing, `-- \n${platformName}`].join('\n\n');
  const page = html`<!doctype html>
<html lang="${texts.tag}" dir="${texts.direction}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff">
<div style="max-width:34em;margin:0 auto">
${brand.hasLogo && html`<p><img src="cid:${LOGO_ID}" alt="${platformName}" height="32"></p>`}
${[greeting, ...paragraphs].map((paragraph) => html`<p>${markUpNoLinks(paragraph)}</p>`)}
${
  link !== undefined &&
  html`<p><a href="${link}" style="display:inline-block;padding:10px 18px;border-radius:6px;color:${brand.ink};background:${brand.fill};text-decoration:none">${action}</a></p>
<p dir="ltr" style="font-size:14px;word-break:break-all">${link}</p>`
}
${closing.map((paragraph) => html`<p>${paragraph}</p>`)}
<p style="color:#59636e">${platformName}</p>
</div>
</body>
</html>`;
  return { subject, text: `${text}\n`, html: toText(page) };
}
