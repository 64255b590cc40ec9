import { readFileSync } from 'node:fs';
import { BLACK, type Color, contrastOf, formatColor, mixColors, parseColor, WHITE } from './colors.ts';
import { checkImage, InvalidImage } from './images.ts';
import { hasHiddenCharacters } from './names.ts';
import { type Environment, InvalidSetting } from './setting-values.ts';
import { parseWebAddress } from './web-addresses.ts';

/** What makes pages and mails look like those of the platform. */
export interface BrandingSettings {
  /** A PNG, JPEG or WebP file. Undefined: the pages show ours. */
  logo: Buffer | undefined;
  /** Of links and buttons. Undefined: ours. */
  accent: { light: Color; dark: Color } | undefined;
  /** In the footer of every page. */
  links: { name: string; url: string }[];
}

export function readBranding(env: Environment): BrandingSettings {
  return { logo: readLogo(env), accent: readAccent(env), links: readLinks(env) };
}

/** The path of a file, or the file itself as a data URL. */
function readLogo(env: Environment): Buffer | undefined {
  const text = env.PLATFORM_LOGO;
  if (!text) return undefined;
  const [, encoded] = /^data:[^,]*;base64,(.*)$/s.exec(text) ?? [];
  const file = encoded === undefined ? readLogoFile(text) : Buffer.from(encoded, 'base64');
  try {
    checkImage(file);
    return file;
  } catch (error) {
    if (!(error instanceof InvalidImage)) throw error;
    throw new InvalidSetting(`PLATFORM_LOGO cannot be used. ${error.message}`);
  }
}

function readLogoFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new InvalidSetting(`PLATFORM_LOGO must be a PNG, JPEG or WebP file that can be read; it is ${path}.`);
  }
}

type Theme = 'light' | 'dark';

/** The backgrounds of tokens.css on which links and marked entries are. The last one is behind an entry of the menu under the pointer. */
export const BACKGROUNDS: Record<Theme, readonly string[]> = {
  light: ['#ffffff', '#f7f8fa', '#f3f4f7', '#eef0f4'],
  dark: ['#14161a', '#0c0d10', '#0f1114', '#1e2127'],
};

/** WCAG 2.2, 1.4.3: for text. */
const MIN_CONTRAST = 4.5;

/** One color for both themes, or two. Few colors can be read on white and on black. */
function readAccent(env: Environment): BrandingSettings['accent'] {
  const text = env.ACCENT_COLOR;
  if (!text) return undefined;
  const [light, dark = light, ...more] = text.split(',').map((part) => parseColor(part.trim()));
  if (!light || !dark || more.length > 0) {
    throw new InvalidSetting(`ACCENT_COLOR must be a color like #1f4fd8, or two, for light and dark; it is ${text}.`);
  }
  const accent = { light, dark };
  for (const theme of ['light', 'dark'] as const) checkContrast(theme, accent);
  return accent;
}

function checkContrast(theme: Theme, accent: { light: Color; dark: Color }): void {
  const contrast = leastContrast(accent[theme], theme);
  if (contrast >= MIN_CONTRAST) return;
  const readable = {
    light: toReadable(accent.light, 'light'),
    dark: toReadable(accent.dark, 'dark'),
  };
  // Rounded down: 4.49 is not 4.5.
  const shown = (Math.floor(contrast * 10) / 10).toFixed(1);
  throw new InvalidSetting(
    `ACCENT_COLOR ${formatColor(accent[theme])} has a contrast of ${shown} to 1 to the backgrounds of the ${theme} theme, and needs ${MIN_CONTRAST} to 1. ` +
      `One color for each theme can be given, like ${formatColor(readable.light)},${formatColor(readable.dark)}.`,
  );
}

function leastContrast(color: Color, theme: Theme): number {
  const backgrounds = [...BACKGROUNDS[theme].map((text) => parseColor(text) ?? WHITE), softAccent(color, theme)];
  return Math.min(...backgrounds.map((background) => contrastOf(color, background)));
}

/** The background of what is selected. */
export function softAccent(accent: Color, theme: Theme): Color {
  const paper = parseColor(BACKGROUNDS[theme][0] ?? '') ?? WHITE;
  return mixColors(paper, accent, theme === 'light' ? 0.07 : 0.14);
}

/** The nearest color that has enough contrast. Black on white, and white on black, have it. */
function toReadable(color: Color, theme: Theme): Color {
  const steps = Array.from({ length: 51 }, (_, step) => step / 50);
  const towards = theme === 'light' ? BLACK : WHITE;
  const readable = steps.map((share) => mixColors(color, towards, share));
  return readable.find((each) => leastContrast(each, theme) >= MIN_CONTRAST) ?? towards;
}

/** Of text on a button of this color. One of the two always has enough contrast. */
export function inkOn(fill: Color): Color {
  return contrastOf(WHITE, fill) >= MIN_CONTRAST ? WHITE : BLACK;
}

const MAX_LINKS = 6;
const MAX_NAME = 40;

/** Like `Privacy=https://example.com/privacy,Terms=https://example.com/terms`. */
function readLinks(env: Environment): BrandingSettings['links'] {
  const text = env.FOOTER_LINKS;
  const given = (text ?? '').split(',').filter((part) => part.trim() !== '');
  const links = given.flatMap((part) => {
    const [name = '', address = ''] = part.split(/=(.*)/s).map((side) => side.trim());
    const url = parseWebAddress(address);
    const isNamed = name !== '' && [...name].length <= MAX_NAME && !hasHiddenCharacters(name);
    return url !== undefined && isNamed ? [{ name, url }] : [];
  });
  if (links.length === given.length && links.length <= MAX_LINKS) return links;
  throw new InvalidSetting(
    `FOOTER_LINKS must be up to ${MAX_LINKS} links like Privacy=https://example.com/privacy, separated by commas; it is ${text}.`,
  );
}
