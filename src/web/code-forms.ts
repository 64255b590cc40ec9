import { isAppCode, type SecondFactors } from '../accounts/second-factors.ts';
import { en, type Texts } from '../languages/en.ts';
import { type Html, html } from '../lib/html.ts';
import { type Form, input, type Problem, postForm, text } from './forms.ts';

export interface SubmittedCode {
  code: string;
  /** Shows a problem with the code. */
  field: 'code' | 'recovery_code';
  /** How the code is checked, which decides the limit that it counts against. */
  method: 'code' | 'recovery code';
}

export function submittedCode(form: Form): SubmittedCode {
  const recovery = text(form, 'recovery_code');
  const method = isAppCode(recovery) ? 'code' : 'recovery code';
  if (recovery) return { code: recovery, field: 'recovery_code', method };
  return { code: text(form, 'code'), field: 'code', method: 'code' };
}

interface CodeForms {
  texts?: Texts;
  action: string;
  csrf: string;
  returnTo?: string;
  factors: SecondFactors;
  button: string;
  /** The class of the button. */
  style?: 'primary' | 'danger';
  /** Where Cancel leads, if there is one. */
  cancel?: string;
  problem: Problem | undefined;
}

/** Asks for a code of the authenticator app, or for a recovery code instead. */
export function codeForms(forms: CodeForms): Html {
  const { texts = en, action, csrf, returnTo, factors, button, style = 'primary', cancel, problem } = forms;
  const target = returnTo !== undefined && html`<input type="hidden" name="return_to" value="${returnTo}">`;
  const submit = html`<button class="${style} wide">${button}</button>`;
  const pair = html`<div class="form-actions"><a class="button secondary" href="${cancel}">Cancel</a><button class="${style}">${button}</button></div>`;
  const end = cancel === undefined ? submit : pair;
  return html`${postForm({ action, csrf, body: html`${target}${codeField(problem, { focus: true, texts })}${end}` })}
${
  factors.recoveryCodes > 0 &&
  html`<details class="apart" ${problem?.field === 'recovery_code' && html`open`}><summary>${texts.secondStep.useRecoveryCode}</summary>
${postForm({ action, csrf, body: html`${target}${recoveryCodeField(texts, problem)}${submit}` })}</details>`
}`;
}

export function codeField(
  problem: Problem | undefined,
  { focus, texts = en }: { focus: boolean; texts?: Texts },
): Html {
  const { code: label, codeHint: hint } = texts.fields;
  const field = { name: 'code', label, hint, autocomplete: 'one-time-code', isNumeric: true, focus };
  return input(field, problem);
}

function recoveryCodeField({ fields }: Texts, problem: Problem | undefined): Html {
  return input({ name: 'recovery_code', label: fields.recoveryCode, hint: fields.recoveryCodeHint }, problem);
}
