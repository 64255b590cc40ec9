import type { Impact } from '../grants/impact.ts';
import { type Html, html } from '../lib/html.ts';
import { impactText } from './components/product.ts';
import { question } from './components/structure.ts';
import { postForm } from './forms.ts';

interface EndOfTokens {
  app: { name: string };
  /** The page of the app. */
  path: string;
  impact: Impact;
  csrf: string;
}

export const END_TOKENS = 'end-tokens';

/** For the page of an app, where developers and platform admins find it. */
export function endTokensAction(path: string) {
  return {
    title: 'End every token',
    text: 'After a leak: every token and code that the app has got until now stops working at once. New ones work.',
    action: html`<a class="button danger" href="${path}/${END_TOKENS}">End tokens…</a>`,
  };
}

export function endTokensQuestion({ app, path, impact, csrf }: EndOfTokens): { title: string; body: Html } {
  const title = `End every token of ${app.name}?`;
  const body = html`<p>It is connected by <strong>${impactText(impact)}</strong> right now.</p>
<p>Every token and code that the app has got until now stops working at once. This cannot be undone. The app then sends people here again, and they are not asked again.</p>
<p>If a secret has leaked, replace it first.</p>
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a>
${postForm({ action: `${path}/${END_TOKENS}`, csrf, body: html`<button class="danger">End every token</button>` })}</div>`;
  return { title, body: question({ title, back: { to: path, name: app.name }, body }) };
}
