import { formatCount } from '../../grants/counts.ts';
import type { Progress } from '../../grants/follow-up-progress.ts';
import { type Html, html } from '../../lib/html.ts';

/** What is left to do after stops, which have taken effect. The script refreshes it, and removes it in the end. */
export function followUpProgress(progress: Progress[]): Html | null {
  if (progress.length === 0) return null;
  return html`<div id="follow-ups" data-live><div class="notice">${progress.map(
    (each) => html`<p>${sentence(each)}</p>`,
  )}</div></div>`;
}

const WHOLE = { isPart: false };

function sentence({ kind, done, left }: Progress): string {
  const numbers = `${done.toLocaleString('en')} done, ${formatCount(left, WHOLE)} left.`;
  return kind === 'end'
    ? `Ending access: ${numbers} None of these grants works any more.`
    : `Telling the apps: ${numbers} None of these grants works now.`;
}
