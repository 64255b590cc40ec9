import { ROLES, type Role } from '../accounts/memberships.ts';
import { type Html, html } from '../lib/html.ts';
import { ariaAttributes, type Problem, problemText } from './forms.ts';

export const ROLE_NAMES: Record<Role, string> = { owner: 'Owner', admin: 'Admin', member: 'Member' };

export const AS_ROLE: Record<Role, string> = { owner: 'an owner', admin: 'an admin', member: 'a member' };

export const ROLE_MEANINGS: Record<Role, string> = {
  owner: 'Can do everything an admin can, invite and remove people, and see the audit log.',
  admin: 'Can do everything a member can, and register and change the apps of the business.',
  member: 'Can connect apps to the business.',
};

export function roleBadge(role: Role): Html {
  return html`<span class="badge">${ROLE_NAMES[role]}</span>`;
}

export function roleField(chosen: string, problem?: Problem): Html {
  const wrong = problem?.field === 'role';
  return html`<fieldset class="field" ${ariaAttributes('role', { wrong })}>
<legend>Role</legend>
${wrong && problemText(problem)}
${[...ROLES]
  .reverse()
  .map(
    (role) =>
      html`<label class="choice"><input type="radio" name="role" value="${role}" required ${role === chosen && html`checked`}><span><strong>${ROLE_NAMES[role]}</strong><br><span class="muted small">${ROLE_MEANINGS[role]}</span></span></label>`,
  )}
</fieldset>`;
}
