import type { FastifyInstance } from 'fastify';
import type { Member } from '../../../accounts/memberships.ts';
import { createPasswordLink } from '../../../accounts/password-links.ts';
import { type Html, html } from '../../../lib/html.ts';
import { access } from '../../access.ts';
import { PageError } from '../../errors.ts';
import { type Form, postForm } from '../../forms.ts';
import { passwordLinkBody } from '../../password-link.ts';
import { businessField, type Entry, type MemberDesk, PATH, refuseOtherBusiness } from './desk.ts';

/** Owners help members who cannot sign in any more. */
export function mountPasswordLinks(host: FastifyInstance, desk: MemberDesk): void {
  const { storage, clock, consentUrl, show, enterForMember, findOtherBusinesses } = desk;

  host.post<{ Params: { user: string }; Body: Form }>(
    `${PATH}/:user/password-link`,
    access('owner', findOtherBusinesses),
    async (request, reply) => {
      const { entry, member } = await enterForMember(request);
      refuseOtherBusiness(entry, request.body);
      const { id: userId, name } = member;
      const wanted = { userId, by: entry.by, businessId: entry.business.businessId };
      const made = await storage.transaction((db) => createPasswordLink(db, wanted, clock()));
      if (!made) throw notByOwner(desk.platformName);
      const link = `${consentUrl}/password/${made.token}`;
      const body = html`${passwordLinkBody({ name, link, expiresAt: made.expiresAt })}
<p><a class="button secondary" href="${PATH}">All members</a></p>`;
      return show(reply, entry, { title: 'The link is ready', body });
    },
  );
}

/** The same for every reason: to which other businesses someone belongs is not for an owner to know. */
function notByOwner(platformName: string): PageError {
  const sentence = `You cannot create a link for this person. Ask a platform admin of ${platformName}, who can.`;
  return new PageError(403, 'Not allowed', sentence);
}

export function passwordLinkSection(entry: Entry, member: Member): Html {
  return html`<section class="card"><h2>Forgotten password</h2>
<p>A one-time link lets ${member.name} set a new password. It removes their passkeys and signs them out everywhere. It can be created for people who belong to ${entry.business.businessName} only.</p>
${postForm({
  action: `${PATH}/${member.id}/password-link`,
  csrf: entry.context.csrf,
  body: html`${businessField(entry)}<button class="secondary">Create password link</button>`,
})}</section>`;
}
