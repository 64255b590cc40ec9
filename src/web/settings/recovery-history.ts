import type { User } from '../../accounts/users.ts';
import { type Act, listActsOn } from '../../audit/act-log.ts';
import type { Action } from '../../audit/acts.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Database } from '../../storage/storage.ts';
import { time } from '../forms.ts';

const SHOWN = 5;
const ACTIONS: Action[] = ['user.password_link_created', 'user.password_reset', 'user.password_changed'];

/** What others have done about a user's password, so that the user notices a reset that they did not ask for. */
export async function recoveryHistory(db: Database, user: User, platformName: string): Promise<Html | false> {
  const acts = await listActsOn(db, { subjectId: user.id, actions: ACTIONS, limit: 2 * SHOWN });
  const byOthers = acts.filter(({ action, actor }) => actor.id !== user.id || action === 'user.password_reset');
  if (byOthers.length === 0) return false;
  return html`<p>Recent resets of your password:</p>
<ul>${byOthers.slice(0, SHOWN).map((act) => html`<li>${time(act.at)}: ${sentenceOf(act, platformName)}</li>`)}</ul>
<p class="muted small">If you did not ask for one of these, tell a platform admin of ${platformName}.</p>`;
}

function sentenceOf({ action, actor, business }: Act, platformName: string): string {
  const who = {
    user: business ? `${actor.name}, an owner of ${business.name},` : actor.name,
    platform: `A platform admin of ${platformName}`,
    operator: `An operator of ${platformName}`,
    app: actor.name,
    anonymous: actor.name,
  }[actor.kind];
  if (action === 'user.password_link_created') return `${who} created a link to set a new password.`;
  if (action === 'user.password_reset') return 'The link was used, and a new password was set.';
  return `${who} set a new password.`;
}
