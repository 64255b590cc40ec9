import type { FastifyReply } from 'fastify';
import { FormError, Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';

/** A form that changes something: only a page of ours, in this browser, has its csrf text. */
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

/** Does what a form asks, or shows the form again with what is wrong with it. */
export async function tryForm<Answer>(
  work: () => Promise<Answer>,
  showAgain: (problem: Problem) => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return showAgain(error);
    throw error;
  }
}

/** Like `tryForm`. The form also shows that there were too many attempts, or that the server is too busy. */
export async function tryRateLimitedForm<Answer>(
  reply: FastifyReply,
  work: () => Promise<Answer>,
  showAgain: (problem: Problem, status: number) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return showAgain(error, 400);
    if (!(error instanceof TooManyRequests || error instanceof Overloaded)) throw error;
    reply.header('retry-after', error.retryAfter);
    return showAgain({ field: 'password', message: error.message }, error instanceof Overloaded ? 503 : 429);
  }
}

/** What a form sent: text, or a list where a name came more than once. */
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
}

interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password';
  value?: string;
  hint?: string;
  autocomplete?: string;
  focus?: boolean;
  /** It may stay empty. */
  optional?: boolean;
}

/** A labelled input that says beside itself what is wrong with what was typed. */
export function input(
  { name, label, type = 'text', value = '', hint, autocomplete = 'off', focus = false, optional = false }: Field,
  problem?: Problem,
): Html {
  const wrong = problem?.field === name;
  return html`<div class="field">
<label for="${name}">${label}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" ${!optional && html`required`} ${focus && html`autofocus`} ${ariaAttributes(name, { hint, wrong })}>
${wrong && problemText(problem)}
</div>`;
}

export function ariaAttributes(name: string, { hint, wrong }: { hint?: string | undefined; wrong: boolean }): Html {
  const ids = [hint && `${name}-hint`, wrong && `${name}-problem`].filter(Boolean).join(' ');
  return html`${ids && html`aria-describedby="${ids}"`} ${wrong && html`aria-invalid="true"`}`;
}

export function problemText({ field, message }: Problem): Html {
  return html`<p class="problem" id="${field}-problem">${message}</p>`;
}

/** Text that someone will want to carry elsewhere. The button shows only where it can work. */
export function copyable(id: string, content: string): Html {
  return html`<span class="copyable"><code id="${id}">${content}</code><button type="button" class="quiet" data-copy="${id}" hidden>Copy</button></span>`;
}

/** In UTC, and it says so; a browser that runs scripts shows its reader's own zone instead. */
export function time(milliseconds: number): Html {
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** To the second. */
export function preciseTime(milliseconds: number): Html {
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso}" data-precise="yes">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}
