import type { FastifyInstance } from 'fastify';
import { findMembership } from '../../accounts/memberships.ts';
import { setCurrentBusiness } from '../../accounts/users.ts';
import { isId } from '../../lib/ids.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { type Form, text } from '../forms.ts';
import { readReturnTo } from '../return-to.ts';
import { requireSession } from '../session.ts';

export function mountCurrentBusiness(host: FastifyInstance, { storage, consentUrl }: WebDeps): void {
  host.post<{ Body: Form }>('/settings/current-business', access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    const businessId = text(request.body, 'business');
    const membership = isId(businessId) && (await findMembership(storage.durable, user.id, businessId));
    if (!membership) throw notFound();
    await setCurrentBusiness(storage.durable, user.id, membership.businessId);
    return reply.redirect(readReturnTo(request.body.return_to, consentUrl), 303);
  });
}
