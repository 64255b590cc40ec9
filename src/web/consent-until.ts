import { type EndChoice, listEndChoices, readEnd, readEndPolicy } from '../grants/connection-ends.ts';
import type { Consent } from '../grants/consents.ts';
import { type Html, html } from '../lib/html.ts';
import { day, formatDay } from './days.ts';
import type { WebDeps } from './deps.ts';
import { ariaAttributes, type Form, type Problem, problemText, text } from './forms.ts';

/** The ends that the user can choose on the consent screen. */
export async function findEndChoices({ storage }: WebDeps, { expiresAt }: Consent): Promise<EndChoice[]> {
  return listEndChoices(await readEndPolicy(storage.durable), expiresAt);
}

/** When the connection ends by the form, null for never. */
export async function readEndField(deps: WebDeps, form: Form, earlier: Consent): Promise<number | null> {
  return readEnd(await findEndChoices(deps, earlier), text(form, 'ends'), deps.clock());
}

interface EndField {
  choices: EndChoice[];
  /** The value of the selected choice; the first if it is none of them. */
  selected: string;
  appName: string;
  problem: Problem | undefined;
}

/** Null if there is nothing to choose. */
export function endField({ choices, selected, appName, problem }: EndField): Html | null {
  const [only, ...others] = choices;
  if (others.length === 0)
    return only && 'keeps' in only ? html`<p class="muted">Access ends on ${day(only.keeps)}.</p>` : null;
  const wrong = problem?.field === 'ends';
  const hint = 'For everything that it may do here. You can disconnect it earlier.';
  return html`<div class="field"><label for="ends">How long ${appName} has access</label>
<p class="hint" id="ends-hint">${hint}</p>
<select id="ends" name="ends" ${ariaAttributes('ends', { hint, wrong })}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}" ${choice.value === selected && html`selected`}>${describeChoice(choice)}</option>`,
  )}</select>
${wrong && problemText(problem)}</div>`;
}

function describeChoice(choice: EndChoice): string {
  if ('keeps' in choice) return `Until ${formatDay(choice.keeps)}, as now`;
  if (!('days' in choice)) return 'Until I disconnect it';
  return choice.days === 1 ? '1 day' : `${choice.days} days`;
}
