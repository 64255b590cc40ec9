import type { SessionSummary } from '../../accounts/sessions.ts';
import { type AuditEntry, describeDetail } from '../../audit/log.ts';
import { type Html, html } from '../../lib/html.ts';
import { encrypt, type Keyring } from '../../lib/keyring.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { badge } from '../components/display.ts';
import { settings } from '../components/structure.ts';
import { postForm, time } from '../forms.ts';
import type { PageContext } from '../layout.ts';

const ACCOUNT = '/settings/account';
export const SESSIONS_SHOWN = 30;

/** Forms refer to a session by its encrypted hash: pages show neither cookies nor stored hashes. */
export const SESSION_PURPOSE = 'session address';

interface SessionSection {
  context: PageContext;
  sessions: SessionSummary[];
  /** The hash of the current session. */
  here: string;
  keys: Keyring;
}

export function sessionSection({ context, sessions, here, keys }: SessionSection): Html {
  const shown = sessions.slice(0, SESSIONS_SHOWN);
  const rows = html`<ul class="rows">${shown.map((session) => sessionRow(session, session.idHash === here, keys))}</ul>`;
  const endOthers = html`<button class="danger">Sign out everywhere else</button>`;
  return settings({
    title: 'Sessions',
    id: 'sessions',
    intro:
      'Where you are signed in. A session ends 12 hours after it was last used, and after 30 days at the latest. The owners of your businesses see when and from where you sign in.',
    body: html`${postForm({ action: `${ACCOUNT}/end-session`, csrf: context.csrf, body: rows })}
${sessions.length > shown.length && html`<p class="muted small">These are the ${SESSIONS_SHOWN} most recent; there are more.</p>`}
${sessions.length > 1 && postForm({ action: `${ACCOUNT}/end-other-sessions`, csrf: context.csrf, style: 'apart', body: endOthers })}`,
  });
}

export function failedSection(failed: AuditEntry[]): Html | false {
  const row = ({ at, actor, detail }: AuditEntry) =>
    html`<li><div>${time(at)}<p class="muted small">${actor.address}. ${describeDetail(detail)}</p></div></li>`;
  return (
    failed.length > 0 &&
    settings({
      title: 'Failed sign-ins',
      intro:
        'Repeated attempts within an hour are counted together. If these were not you, choose a password that you use nowhere else, or add a passkey.',
      body: html`<ul class="rows">${failed.map(row)}</ul>`,
    })
  );
}

function sessionRow(session: SessionSummary, isHere: boolean, keys: Keyring): Html {
  const { browser, address, signedInAt, lastSeenAt } = session;
  const name = describeUserAgent(browser);
  return html`<li><div><strong>${name}</strong> ${isHere && badge('This browser', 'good')}
<p class="muted small">${address}. Last seen ${time(lastSeenAt)}, signed in since ${time(signedInAt)}</p></div>
${!isHere && html`<button class="quiet danger" name="session" value="${encrypt(keys, SESSION_PURPOSE, session.idHash)}" aria-label="End the session of ${name} at ${address}">End</button>`}</li>`;
}
