/** Red, green and blue, from 0 to 255. */
export type Color = readonly [number, number, number];

export const WHITE: Color = [255, 255, 255];
export const BLACK: Color = [0, 0, 0];

/** Like #1f4fd8. */
export function parseColor(text: string): Color | undefined {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return undefined;
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

export function formatColor(color: Color): string {
  return `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

/** `share` of the second color, from 0 to 1. */
export function mixColors(one: Color, other: Color, share: number): Color {
  const mix = (from: number, to: number) => Math.round(from + (to - from) * share);
  return [mix(one[0], other[0]), mix(one[1], other[1]), mix(one[2], other[2])];
}

/** From 1 to 21 (WCAG 2.2, contrast ratio). */
export function contrastOf(one: Color, other: Color): number {
  const [lighter = 0, darker = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

/** WCAG 2.2, relative luminance. */
function luminanceOf([red, green, blue]: Color): number {
  const linear = (part: number) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
