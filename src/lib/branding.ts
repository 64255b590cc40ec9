import { BLACK, type Color, contrastOf, mixColors, parseColor, WHITE } from './colors.ts';

/** What makes pages and mails look like those of the platform. */
export interface BrandingSettings {
  /** A PNG, JPEG or WebP file of the operator. Undefined: the pages show ours. */
  logo: Buffer | undefined;
  /** Of links and buttons. Undefined: ours. */
  accent: { light: Color; dark: Color } | undefined;
  /** In the footer of every page. */
  links: { name: string; url: string }[];
}

export type Theme = 'light' | 'dark';

/** The backgrounds of tokens.css on which links and marked entries are. The last one is behind an entry of the menu under the pointer. */
export const BACKGROUNDS: Record<Theme, readonly string[]> = {
  light: ['#ffffff', '#f7f8fa', '#f3f4f7', '#eef0f4'],
  dark: ['#14161a', '#0c0d10', '#0f1114', '#1e2127'],
};

/** WCAG 2.2, 1.4.3: for text. */
export const MIN_CONTRAST = 4.5;

export function leastContrast(color: Color, theme: Theme): number {
  const backgrounds = [...BACKGROUNDS[theme].map((text) => parseColor(text) ?? WHITE), softAccent(color, theme)];
  return Math.min(...backgrounds.map((background) => contrastOf(color, background)));
}

/** The background of what is selected. */
export function softAccent(accent: Color, theme: Theme): Color {
  const paper = parseColor(BACKGROUNDS[theme][0] ?? '') ?? WHITE;
  return mixColors(paper, accent, theme === 'light' ? 0.07 : 0.14);
}

/** The nearest color that has enough contrast. Black on white, and white on black, have it. */
export function toReadable(color: Color, theme: Theme): Color {
  const steps = Array.from({ length: 51 }, (_, step) => step / 50);
  const towards = theme === 'light' ? BLACK : WHITE;
  const readable = steps.map((share) => mixColors(color, towards, share));
  return readable.find((each) => leastContrast(each, theme) >= MIN_CONTRAST) ?? towards;
}

/** Of text on a button of this color. One of the two always has enough contrast. */
export function inkOn(fill: Color): Color {
  return contrastOf(WHITE, fill) >= MIN_CONTRAST ? WHITE : BLACK;
}
