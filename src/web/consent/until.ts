import { type EndChoice, listEndChoices, readEnd, readEndPolicy } from '../../grants/connection-ends.ts';
import type { Consent } from '../../grants/consents.ts';
import type { Texts } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { bdi } from '../components/display.ts';
import type { WebDeps } from '../deps.ts';
import { ariaAttributes, type Form, type Problem, problemText, text } from '../forms.ts';

/** The ends that the user can choose on the consent screen. */
export async function findEndChoices({ storage }: WebDeps, { expiresAt }: Consent): Promise<EndChoice[]> {
  return listEndChoices(await readEndPolicy(storage.durable), expiresAt);
}

/** When the connection ends by the form, null for never. */
export async function readEndField(deps: WebDeps, form: Form, earlier: Consent): Promise<number | null> {
  return readEnd(await findEndChoices(deps, earlier), text(form, 'ends'), deps.clock());
}

interface EndField {
  texts: Texts;
  choices: EndChoice[];
  /** The value of the selected choice; the first if it is none of them. */
  selected: string;
  appName: string;
  problem: Problem | undefined;
}

/** Null if there is nothing to choose. */
export function endField({ texts, choices, selected, appName, problem }: EndField): Html | null {
  const [only, ...others] = choices;
  if (others.length === 0)
    return only && 'keeps' in only ? html`<p class="muted">${texts.consent.endsOn(day(texts, only.keeps))}</p>` : null;
  const wrong = problem?.field === 'ends';
  const hint = texts.consent.howLongHint;
  return html`<div class="field"><label for="ends">${texts.consent.howLong(bdi(appName))}</label>
<p class="hint" id="ends-hint">${hint}</p>
<select id="ends" name="ends" ${ariaAttributes('ends', { hint, wrong })}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}" ${choice.value === selected && html`selected`}>${describeChoice(texts, choice)}</option>`,
  )}</select>
${wrong && problemText(problem)}</div>`;
}

function describeChoice({ consent, formats }: Texts, choice: EndChoice): string {
  if ('keeps' in choice) return consent.untilDay(formats.day(choice.keeps));
  return 'days' in choice ? consent.days(choice.days) : consent.untilDisconnected;
}

/** In the format of the language. The script replaces it with the date format of the reader. */
export function day({ formats }: Texts, milliseconds: number): Html {
  return html`<time datetime="${new Date(milliseconds).toISOString().slice(0, 10)}" data-precise="day">${formats.day(milliseconds)}</time>`;
}
