import type { FastifyReply } from 'fastify';
import { en, type Texts } from '../languages/en.ts';
import { FormError, Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { copyButton } from './components/display.ts';
import { icon } from './components/icon.ts';

/** A form with a CSRF token. */
export function postForm({ action, csrf, body, style }: PostForm): Html {
  return html`<form method="post" action="${action}" ${style && html`class="${style}"`}>
<input type="hidden" name="csrf" value="${csrf}">
${body}
</form>`;
}

interface PostForm {
  action: string;
  csrf: string;
  body: Html;
  style?: string;
}

/** Runs `work`. On a `FormError`, shows the form again with the problem. */
export async function tryForm<Result>(
  work: () => Promise<Result>,
  showAgain: (problem: Problem) => Result | Promise<Result>,
  texts = en,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return showAgain(problemIn(texts, error));
    throw error;
  }
}

function problemIn({ problems }: Texts, { field, message, rows, textIn }: FormError): Problem {
  return { field, message: textIn?.(problems) ?? message, rows };
}

/** Like `tryForm`. The form also shows, at `field`, that there were too many attempts, or that the server is too busy. */
export async function tryRateLimitedForm<Result>(
  reply: FastifyReply,
  work: () => Promise<Result>,
  showAgain: (problem: Problem, status: number) => Promise<Result>,
  { texts = en, field = 'password' }: { texts?: Texts; field?: string } = {},
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return showAgain(problemIn(texts, error), 400);
    if (!(error instanceof TooManyRequests || error instanceof Overloaded)) throw error;
    reply.header('retry-after', error.retryAfter);
    const message = error.textIn?.(texts.problems) ?? error.message;
    return showAgain({ field, message }, error instanceof Overloaded ? 503 : 429);
  }
}

/** A parsed body or query: a string per name, or an array if the name is repeated. */
export type Form = Record<string, unknown>;

export function text(form: Form, name: string): string {
  const value = form[name];
  return typeof value === 'string' ? value : '';
}

export function list(form: Form, name: string): string[] {
  const value = form[name];
  const values = Array.isArray(value) ? value : [value];
  return values.filter((item) => typeof item === 'string');
}

export interface Problem {
  field: string;
  message: string;
  /** For a field with several rows: what is wrong in each, in their order. */
  rows?: readonly (string | undefined)[] | undefined;
}

interface Field {
  name: string;
  label: Html | string;
  type?: 'text' | 'email' | 'password';
  value?: string;
  hint?: string;
  autocomplete?: string;
  /** Shows the digits of an on-screen keyboard. */
  isNumeric?: boolean;
  focus?: boolean;
  optional?: boolean;
  /** The name of a button that shows a password. The script shows the button. */
  show?: string;
}

/** An input with its label, hint and error message. */
export function input(field: Field, problem?: Problem): Html {
  const { name, label, hint, show } = field;
  const wrong = problem?.field === name;
  return html`<div class="field">
<label for="${name}">${label}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${show ? html`<div class="shown">${inputElement(field, wrong)}${showButton(name, show)}</div>` : inputElement(field, wrong)}
${wrong && problemText(problem)}
</div>`;
}

function inputElement(field: Field, wrong: boolean): Html {
  const { name, type = 'text', value = '', hint, autocomplete = 'off', focus, optional, isNumeric } = field;
  return html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" ${isNumeric && html`inputmode="numeric"`} ${!optional && html`required`} ${focus && html`autofocus`} ${ariaAttributes(name, { hint, wrong })}>`;
}

function showButton(field: string, name: string): Html {
  return html`<button type="button" data-show="${field}" aria-controls="${field}" aria-pressed="false" hidden>${icon('eye')}<span class="visually-hidden">${name}</span></button>`;
}

export function ariaAttributes(name: string, { hint, wrong }: { hint?: string | undefined; wrong: boolean }): Html {
  const ids = [hint && `${name}-hint`, wrong && `${name}-problem`].filter(Boolean).join(' ');
  return html`${ids && html`aria-describedby="${ids}"`} ${wrong && html`aria-invalid="true"`}`;
}

export function problemText({ field, message }: Problem): Html {
  return html`<p class="problem" id="${field}-problem">${message}</p>`;
}

/** Text with a copy button, which the script shows. */
export function copyable(id: string, content: string, name = id.replaceAll('-', ' ')): Html {
  return html`<span class="copyable"><code id="${id}">${content}</code>${copyButton(` ${name}`, { id })}</span>`;
}

/** In UTC; the script shows local time instead. */
export function time(milliseconds: number, texts?: Texts): Html {
  const iso = new Date(milliseconds).toISOString();
  const shown = texts ? texts.formats.time(milliseconds) : `${iso.slice(0, 16).replace('T', ' ')} UTC`;
  return html`<time datetime="${iso}">${shown}</time>`;
}

/** To the second. */
export function preciseTime(milliseconds: number): Html {
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso}" data-precise="yes">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** To the second. Where the script runs, without the year. */
export function shortTime(milliseconds: number): Html {
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso}" data-precise="short">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}
