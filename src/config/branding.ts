import { readFileSync } from 'node:fs';
import { type BrandingSettings, leastContrast, MIN_CONTRAST, type Theme, toReadable } from '../lib/branding.ts';
import { type Color, formatColor, parseColor } from '../lib/colors.ts';
import { InvalidSetting } from '../lib/errors.ts';
import { checkOwnImage, InvalidImage } from '../lib/images.ts';
import { hasHiddenCharacters } from '../lib/names.ts';
import { parseWebAddress } from '../lib/web-addresses.ts';
import type { Environment } from './values.ts';

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
    checkOwnImage(file);
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
