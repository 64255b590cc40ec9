import { readFileSync } from 'node:fs';
import { type Html, html, toText } from '../../src/lib/html.ts';
import { PACKAGE_ROOT } from '../../src/lib/package.ts';

/** CSS pixels. At SCALE, each part of the window has a whole number of real pixels. */
export const SCALE = 1.25;
const BAR = 40;
const CAPTION = 44;
export const VIEW = { width: 1024, height: 556 };
export const STAGE = { width: VIEW.width, height: BAR + VIEW.height + CAPTION };

const GEIST = readFileSync(new URL('src/web/assets/geist-latin.woff2', PACKAGE_ROOT)).toString('base64');
const TOKENS = readFileSync(new URL('src/web/styles/tokens.css', PACKAGE_ROOT), 'utf8').replace(
  /url\("geist-latin\.woff2"\)/,
  `url("data:font/woff2;base64,${GEIST}")`,
);

export interface Step {
  title: string;
  text: string;
}

export interface Scene {
  /** What the bar of the window says. */
  title: string;
  /** The contents of the window: a picture of a page, or the text of a terminal. */
  view: { png: Buffer } | { text: string };
  step: number;
}

/** A window with a bar above and a caption below. The pointer is moved later, without drawing the rest again. */
export function stageMarkup({ title, view, step }: Scene, steps: Step[]): string {
  const isTerminal = 'text' in view;
  const { title: name, text } = steps[step] ?? { title: '', text: '' };
  const body = html`<style>${STYLES}</style><div class="window ${isTerminal ? 'terminal' : ''}">
<header><i></i><i></i><i></i><span>${title}</span></header>
${isTerminal ? terminalText(view.text) : html`<img src="data:image/png;base64,${view.png.toString('base64')}" alt="">`}
<footer><b>${step + 1}</b><strong>${name}</strong><span>${text}</span><ol>${steps.map((_, i) => html`<li class="${i <= step ? 'past' : ''}"></li>`)}</ol></footer>
</div><div id="ring" hidden></div>
<svg id="pointer" viewBox="0 0 24 24" width="26" height="26" hidden><path d="M5 2.5v17l4.3-4 2.7 6.2 2.9-1.3-2.7-6.1 5.8-.5z"/></svg>`;
  return `<!doctype html><style>${TOKENS}</style>${toText(body)}`;
}

function terminalText(text: string): Html {
  // Splitting by a group keeps the addresses, at the odd places.
  const parts = text.split(/(https?:\/\/[\w.:/]+)/);
  return html`<pre>${parts.map((part, i) => (i % 2 ? html`<u>${part}</u>` : part))}</pre>`;
}

const STYLES = html`
html { background: transparent; }
body { margin: 0; font: 15px/1 var(--font); color: var(--ink); }
.window { position: relative; overflow: hidden; border-radius: 12px; background: var(--paper); }
.window::after { content: ""; position: absolute; inset: 0; border: 0.8px solid var(--line-strong); border-radius: 12px; }
header { display: flex; align-items: center; gap: 8px; height: ${BAR}px; padding: 0 16px; box-sizing: border-box; background: var(--hover); }
header i { width: 12px; height: 12px; border-radius: 50%; background: var(--line-strong); }
header span { flex: 1; margin-right: 60px; text-align: center; font-size: 13px; color: var(--muted); }
img, pre { display: block; width: ${VIEW.width}px; height: ${VIEW.height}px; margin: 0; }
pre { box-sizing: border-box; padding: 20px 24px; background: #14161a; color: #edeef2; font: 15px/1.55 var(--mono); }
pre u { color: #a9b5ff; text-decoration: none; }
footer { display: flex; align-items: center; gap: 10px; height: ${CAPTION}px; padding: 0 16px; box-sizing: border-box; background: var(--paper); box-shadow: 0 -1px var(--line); position: relative; }
footer b { width: 24px; border-radius: 50%; background: var(--accent-fill); color: var(--accent-ink); font-size: 13px; line-height: 24px; text-align: center; }
footer strong { font-size: 16px; }
footer span { flex: 1; color: var(--muted); }
ol { display: flex; gap: 5px; margin: 0; padding: 0; list-style: none; }
li { width: 20px; height: 5px; border-radius: 3px; background: var(--line-strong); }
li.past { background: var(--accent-fill); }
#pointer, #ring { position: absolute; }
#pointer { fill: #14161c; stroke: #fff; stroke-width: 1.5; margin: -3px 0 0 -5px; }
#ring { width: 40px; height: 40px; margin: -20px 0 0 -20px; border-radius: 50%; background: rgb(255 170 30 / 30%); box-shadow: 0 0 0 3px rgb(255 170 30); }
[hidden] { display: none; }
`;

/** The place of a point of the view in the window. */
export function onStage({ x, y }: { x: number; y: number }) {
  return { x, y: y + BAR };
}
