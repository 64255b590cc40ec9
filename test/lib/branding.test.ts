import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readBranding } from '../../src/config/branding.ts';
import { BACKGROUNDS, inkOn, softAccent } from '../../src/lib/branding.ts';
import { type Color, contrastOf, formatColor, parseColor } from '../../src/lib/colors.ts';
import { JPEG, makePng, WEBP } from '../support/images.ts';

const color = (text: string): Color => parseColor(text) ?? assert.fail(text);
const message = (env: Record<string, string>): string => {
  try {
    readBranding(env);
  } catch (error) {
    return String((error as Error).message);
  }
  return assert.fail(`${JSON.stringify(env)} is accepted`);
};

test('contrast is computed as in WCAG', () => {
  assert.equal(contrastOf(color('#000000'), color('#ffffff')), 21);
  assert.equal(contrastOf(color('#777777'), color('#ffffff')).toFixed(2), '4.48');
});

test('the backgrounds that the color is compared with are those of the stylesheet', () => {
  const tokens = readFileSync(new URL('../../src/web/styles/tokens.css', import.meta.url), 'utf8');
  const [light = '', dark = ''] = tokens.split('@media (prefers-color-scheme: dark)');
  const found = (css: string) =>
    ['paper', 'ground', 'sunken', 'hover'].map((name) => new RegExp(`--${name}: (#\\w{6});`).exec(css)?.[1]);

  assert.deepEqual({ light: found(light), dark: found(dark) }, BACKGROUNDS);
});

test('a color for each theme is accepted, and both can be read everywhere', () => {
  const { accent } = readBranding({ ACCENT_COLOR: '#1f4fd8, #A9B5FF' });
  assert.ok(accent);

  assert.deepEqual([formatColor(accent.light), formatColor(accent.dark)], ['#1f4fd8', '#a9b5ff']);
  for (const theme of ['light', 'dark'] as const) {
    for (const background of [...BACKGROUNDS[theme].map(color), softAccent(accent[theme], theme)]) {
      assert.ok(contrastOf(accent[theme], background) >= 4.5, `${theme} on ${formatColor(background)}`);
    }
  }
});

test('a color that cannot be read stops the start with its contrast, what it needs, and colors that are accepted', () => {
  for (const text of ['#ffcc00', '#1f4fd8', '#808080', '#ffffff', '#000000', '#e11d48']) {
    const error = message({ ACCENT_COLOR: text });

    assert.match(
      error,
      /^ACCENT_COLOR #\w{6} has a contrast of \d+\.\d to 1 to the backgrounds of the (light|dark) theme/,
    );
    assert.match(error, /needs 4\.5 to 1/);
    const [, offered = ''] = /like (#\w{6},#\w{6})\.$/.exec(error) ?? [];
    assert.ok(readBranding({ ACCENT_COLOR: offered }).accent, error);
  }
});

test('the message names the theme in which the color cannot be read', () => {
  assert.match(message({ ACCENT_COLOR: '#ffcc00,#ffcc00' }), /#ffcc00 has a contrast of 1\.3 to 1 .* light theme/);
  assert.match(message({ ACCENT_COLOR: '#1f4fd8' }), /#1f4fd8 has a contrast of 2\.\d to 1 .* dark theme/);
});

test('text on a button of any color can be read', () => {
  for (let grey = 0; grey < 256; grey += 1) {
    const fill: Color = [grey, grey, grey];
    assert.ok(contrastOf(inkOn(fill), fill) >= 4.5, formatColor(fill));
  }
});

test('links have a name and an address, which may contain an equals sign', () => {
  const { links } = readBranding({
    FOOTER_LINKS: 'Privacy=https://example.com/privacy, Terms of use = https://example.com/?page=terms',
  });

  assert.deepEqual(links, [
    { name: 'Privacy', url: 'https://example.com/privacy' },
    { name: 'Terms of use', url: 'https://example.com/?page=terms' },
  ]);
});

test('a logo can be a data URL; a PNG is checked like that of an app, a JPEG or WebP by its size only', () => {
  const data = (file: Buffer) => `data:image/png;base64,${file.toString('base64')}`;

  for (const file of [makePng(), JPEG, WEBP, JPEG.subarray(0, 9)]) {
    assert.deepEqual(readBranding({ PLATFORM_LOGO: data(file) }).logo, file);
  }
  assert.match(
    message({ PLATFORM_LOGO: data(Buffer.from('<svg/>')) }),
    /^PLATFORM_LOGO cannot be used\. .*PNG, JPEG or WebP/,
  );
  assert.match(message({ PLATFORM_LOGO: data(makePng({ width: 8, height: 8 })) }), /8 × 8 pixels/);
  assert.match(message({ PLATFORM_LOGO: data(Buffer.concat([JPEG, Buffer.alloc(300_000)])) }), /larger than 256 kB/);
});
