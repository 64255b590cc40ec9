import { type Html, html } from '../../../lib/html.ts';
import { PATH } from './desk.ts';

/** For owners: who is here, and who may come. */
export function memberTabs(here: 'members' | 'invitations', open: number): Html {
  const current = (name: string) => name === here && html`aria-current="page"`;
  return html`<nav class="tabs" aria-label="Members"><ul>
<li><a href="${PATH}" ${current('members')}>Members</a></li>
<li><a href="${PATH}/invitations" ${current('invitations')}>Invitations${open > 0 && ` (${open})`}</a></li>
</ul></nav>`;
}
