import { type Html, html } from '../lib/html.ts';
import { question } from './components/structure.ts';
import { type Form, list, postForm, text } from './forms.ts';

/** Whether the form was submitted on the page that `confirmation` makes. */
export function isConfirmed(form: Form | undefined): boolean {
  return text(form ?? {}, 'confirmed') === 'yes';
}

interface Confirmation {
  title: string;
  /** The page with the form that was submitted. */
  back: { to: string; name: string };
  explanation: Html;
  button: string;
  action: string;
  csrf: string;
  /** What was submitted. The page submits it again, as confirmed. */
  form: Form | undefined;
}

/** Asks before a submitted form takes effect. */
export function confirmation({ title, back, explanation, button, action, csrf, form = {} }: Confirmation): Html {
  const names = Object.keys(form).filter((name) => name !== 'csrf' && name !== 'confirmed');
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`;
  const fields = html`${names.flatMap((name) => list(form, name).map((value) => hidden(name, value)))}
${hidden('confirmed', 'yes')}
<div class="form-actions"><a class="button secondary" href="${back.to}">Cancel</a><button class="primary">${button}</button></div>`;
  return question({ title, back, body: html`${explanation}${postForm({ action, csrf, body: fields })}` });
}
