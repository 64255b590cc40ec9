import type { FastifyInstance } from 'fastify';
import { type BrandingSettings, inkOn, softAccent } from '../lib/branding.ts';
import { BLACK, type Color, formatColor, mixColors, WHITE } from '../lib/colors.ts';
import { InvalidSetting } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { type Image, InvalidImage, readOwnImage } from '../lib/images.ts';
import { sha256 } from '../lib/secrets.ts';
import { outboundLink } from './app-identity-views.ts';

interface BrandFile {
  /** The URL changes with the content, so a browser may cache it permanently. */
  path: string;
  type: string;
  content: Buffer;
}

/** What every page shows of the platform. Undefined for what it has not set. */
export interface Branding {
  logo: BrandFile | undefined;
  stylesheet: BrandFile | undefined;
  links: BrandingSettings['links'];
}

declare module 'fastify' {
  interface FastifyInstance {
    branding: Branding;
  }
}

export async function createBranding({ logo, accent, links }: BrandingSettings): Promise<Branding> {
  const image = logo && (await readPlatformLogo(logo));
  return {
    logo: image && brandFile('brand-logo', image.type, Buffer.from(image.bytes)),
    stylesheet: accent && brandFile('brand.css', 'text/css; charset=utf-8', Buffer.from(writeStyles(accent))),
    links,
  };
}

async function readPlatformLogo(file: Buffer): Promise<Image> {
  return readOwnImage(file).catch((error) => {
    throw error instanceof InvalidImage ? new InvalidSetting(`PLATFORM_LOGO cannot be used. ${error.message}`) : error;
  });
}

function brandFile(name: string, type: string, content: Buffer): BrandFile {
  return { path: `/assets/${name}?v=${sha256(content).slice(0, 8)}`, type, content };
}

/** A file of its own: the policy of the pages allows no styles in them. */
export function mountBranding(host: FastifyInstance, branding: Branding): void {
  host.decorate('branding', branding);
  for (const file of [branding.logo, branding.stylesheet]) {
    if (!file) continue;
    host.get(file.path.replace(/\?.*$/, ''), async (_, reply) =>
      reply
        .header('content-type', file.type)
        .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox")
        .header('cross-origin-resource-policy', 'same-origin')
        .header('cache-control', 'public, max-age=31536000, immutable')
        .send(file.content),
    );
  }
}

/** After the stylesheet with the design tokens, some of which it replaces. */
function writeStyles({ light, dark }: { light: Color; dark: Color }): string {
  return `:root {\n${writeTokens(light, 'light')}}\n@media (prefers-color-scheme: dark) {\n:root {\n${writeTokens(dark, 'dark')}}\n}\n`;
}

function writeTokens(accent: Color, theme: 'light' | 'dark'): string {
  const ink = inkOn(accent);
  const tokens = {
    accent: formatColor(accent),
    'accent-fill': formatColor(accent),
    // Away from the ink, so that the contrast grows.
    'accent-fill-hover': formatColor(mixColors(accent, ink === WHITE ? BLACK : WHITE, 0.12)),
    'accent-ink': formatColor(ink),
    'accent-soft': formatColor(softAccent(accent, theme)),
    ring: `rgb(${accent.join(' ')} / ${theme === 'light' ? 22 : 32}%)`,
  };
  return Object.entries(tokens)
    .map(([name, value]) => `  --${name}: ${value};\n`)
    .join('');
}

/** Decorative: the name of the platform is beside it. */
export function brandLogo({ logo }: Branding): Html | undefined {
  return logo && html`<img class="brand-logo" src="${logo.path}" alt="" height="24">`;
}

export function brandStyles({ stylesheet }: Branding): Html | undefined {
  return stylesheet && html`<link rel="stylesheet" href="${stylesheet.path}">`;
}

export function footer({ links }: Branding): Html | null {
  if (links.length === 0) return null;
  return html`<footer class="foot small"><ul>${links.map(({ name, url }) => html`<li>${outboundLink(url, name)}</li>`)}</ul></footer>`;
}
