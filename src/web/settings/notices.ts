import { listNotices, type Notice } from '../../accounts/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { emptyState } from '../components/display.ts';
import { settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { time } from '../forms.ts';

const SHOWN = 30;

/** On the account page: what happened to the account and to the apps of the user's businesses. */
export async function noticeSection({ storage, clock }: WebDeps, userId: string): Promise<Html> {
  const notices = await listNotices(storage.durable, { userId, limit: SHOWN + 1 }, clock());
  const shown = notices.slice(0, SHOWN);
  return settings({
    title: 'Notices',
    id: 'notices',
    intro: 'What happened to your account, and to the apps of businesses that you own, in the last 90 days.',
    body: html`${shown.length === 0 && emptyState({ text: 'None yet. New sign-ins and changes of your account are listed here.' })}
${shown.length > 0 && html`<ul class="rows">${shown.map(noticeRow)}</ul>`}
${notices.length > SHOWN && html`<p class="muted small">These are the ${SHOWN} most recent; there are more.</p>`}`,
  });
}

function noticeRow({ at, title, sentence, path, action }: Notice): Html {
  return html`<li><div><strong>${title}</strong>
<p class="small">${sentence}</p>
<p class="muted small">${time(at)}</p></div>
${!path.startsWith('/settings/account') && html`<a class="button secondary" href="${path}">${action}</a>`}</li>`;
}
