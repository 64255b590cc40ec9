import type { FastifyInstance } from 'fastify';
import type { Member } from '../../accounts/memberships.ts';
import { createPasswordLink } from '../../accounts/password-links.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { businessRoute } from '../business-address.ts';
import { settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { postForm } from '../forms.ts';
import { noPasswordLinkBody, passwordLinkBody } from '../password-link.ts';
import { requireRecentSignIn } from '../session.ts';
import { type MemberRoute, type MembersContext, membersPath, requireMember, sendMembersPage } from './members.ts';

/** An owner helps a member who has forgotten the password. */
export function mountMemberPasswordLink(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, consentUrl, platformName } = deps;

  host.post<MemberRoute>(businessRoute('members/:user/password-link'), access('owner'), async (request, reply) => {
    const { context, member } = await requireMember(deps, request);
    const back = { to: `${membersPath(context)}/${member.id}`, name: member.name };
    requireRecentSignIn(request, back.to, clock());
    const newLink = { userId: member.id, businessId: context.business.businessId };
    const created = await createPasswordLink(context.actor, storage.durable, newLink, clock());
    if (!created) {
      // The error is the same for every reason: owners must not learn which other businesses a member belongs to.
      const sentence = `Nothing was created. For this person, a platform admin of ${platformName} can create the link.`;
      const body = noPasswordLinkBody({ sentence, back });
      return sendMembersPage(reply, deps, { context, title: 'You cannot create this link', body, status: 403 });
    }
    const link = `${consentUrl}/password/${created.token}`;
    const body = passwordLinkBody({ user: member, link, expiresAt: created.expiresAt, back });
    return sendMembersPage(reply, deps, { context, title: 'The link is ready', body });
  });
}

export function passwordLinkSection(context: MembersContext, member: Member): Html {
  return settings({
    title: 'Forgotten password',
    intro: `A one-time link lets ${member.name} set a new password. It removes their passkeys, authenticator app and recovery codes, and signs them out everywhere.`,
    body: html`<p>This works only if ${member.name} belongs to no other business. Otherwise, a platform admin can create the link.</p>
${postForm({
  action: `${membersPath(context)}/${member.id}/password-link`,
  csrf: context.csrf,
  body: html`<button class="secondary">Create password link</button>`,
})}`,
  });
}
