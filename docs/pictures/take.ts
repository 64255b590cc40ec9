// `npm run pictures`: takes the pictures in docs/pictures of a running server with the demo data and of the gallery, and the film.
// `npm run pictures -- film` takes only the film. The film needs the ports of the demo, 4000 to 4004.
// `npm run pictures -- --all --out DIR` takes every page in both themes at both widths, `--only account,app` some of them.

import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import packed from '@sparticuz/chromium';
import { chromium } from 'playwright-core';
import { takeFilm } from './film.ts';
import { takeStills } from './stills.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: 'docs/pictures' },
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const { out, all } = values;
const only = values.only?.split(',');
const isFilm = positionals.includes('film');

mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: await packed.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
});
if (!isFilm) await takeStills(browser, { out, all, only });
if (isFilm || !(all || only)) await takeFilm(browser, out);
await browser.close();
