import type { Impact } from '../grants/impact.ts';
import { type Html, html } from '../lib/html.ts';
import { pluralizeCount } from './components/product.ts';
import { question } from './components/structure.ts';
import { postForm } from './forms.ts';

/** For the page of a user, and for their own connected apps. */
export function endConnectionsAction(path: string) {
  return {
    title: 'End all connections',
    text: 'Every connected app loses its access at once, in every business. This cannot be undone.',
    action: html`<a class="button danger" href="${path}">End all…</a>`,
  };
}

interface EndOfConnections {
  /** Undefined for one's own. */
  name?: string;
  /** The page of the question. */
  path: string;
  back: { to: string; name: string };
  impact: Impact;
  csrf: string;
}

export function endConnectionsQuestion({ name, path, back, impact, csrf }: EndOfConnections) {
  const title = name === undefined ? 'End all your connections?' : `End all connections of ${name}?`;
  const [whose, them] = name === undefined ? ['You have', 'you'] : [`${name} has`, 'them'];
  const body: Html = html`<p>${whose} connected <strong>${connectedText(impact)}</strong>.</p>
<p>Every token and code that these apps have got stops working at once, in every business; so do connections for a business that depend on ${them}. This cannot be undone: an app works again once it is allowed again.</p>
<div class="form-actions"><a class="button secondary" href="${back.to}">Cancel</a>
${postForm({ action: path, csrf, body: html`<button class="danger">End all connections</button>` })}</div>`;
  return { title, body: question({ title, back, body }) };
}

export function connectedText(impact: Impact): string {
  const { apps, businesses, isPart } = impact;
  if (apps === 0 && !isPart) return 'no apps';
  return `${pluralizeCount(apps, impact, 'app', 'apps')} in ${pluralizeCount(businesses, impact, 'business', 'businesses')}`;
}
