import { listOwners } from '../../accounts/memberships.ts';
import { readBusinessRule } from '../../accounts/second-factor-rules.ts';
import { type Html, html } from '../../lib/html.ts';
import { pluralize } from '../components/product.ts';
import type { WebDeps } from '../deps.ts';
import type { MembersContext } from './members.ts';

/** What a page says before somebody becomes an owner. */
export async function ownerPowers({ storage }: WebDeps, { business }: MembersContext): Promise<Html> {
  const { businessId, businessName } = business;
  const { members } = await readBusinessRule(storage.durable, businessId);
  const owners = (await listOwners(storage.durable, businessId)).length;
  return html`<p>${businessName} has <strong>${pluralize(members, 'member', 'members')}</strong>, ${owners.toLocaleString('en')} of them ${owners === 1 ? 'an owner' : 'owners'}.</p>
<p>An owner can invite and remove every one of them, including you, allow apps everything, and see the audit log.</p>`;
}
