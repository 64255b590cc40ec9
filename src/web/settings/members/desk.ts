import type { FastifyReply, FastifyRequest } from 'fastify';
import { findMember, type Member, type Membership } from '../../../accounts/memberships.ts';
import type { UserActor } from '../../../audit/acts.ts';
import { type Html, html } from '../../../lib/html.ts';
import type { WebDeps } from '../../deps.ts';
import { notFound, PageError } from '../../errors.ts';
import { type Form, text } from '../../forms.ts';
import { type PageContext, sendPage } from '../../layout.ts';
import { loadPageContext } from '../../page-context.ts';
import { actorOf, notFoundOrOtherBusiness } from '../../session.ts';

export const PATH = '/settings/members';

/** Someone at work in a business of theirs. */
export interface Entry {
  context: PageContext;
  business: Membership;
  isOwner: boolean;
  by: UserActor;
}

export type MemberRequest = FastifyRequest<{ Params: { user: string } }>;

interface OneMember {
  entry: Entry;
  member: Member;
}

/** What every page about members does: let in whoever may, find the member, and show a page. */
export type MemberDesk = ReturnType<typeof openMemberDesk>;

export function openMemberDesk(deps: WebDeps) {
  const db = deps.storage.durable;

  const show = (
    reply: FastifyReply,
    { context }: { context: PageContext },
    { title, body }: { title: string; body: Html },
    status = 200,
  ): FastifyReply =>
    sendPage(reply, { title, platformName: deps.platformName, width: 'wide', context, body }, { status });

  async function enter(request: FastifyRequest): Promise<Entry> {
    const context = await loadPageContext(deps, request);
    if (!context.current) throw notFound();
    const by = actorOf(request);
    return { context, business: context.current, isOwner: context.current.role === 'owner', by };
  }

  /** A member of the current business, if `mayManage` allows it. One of another business that the user owns is a switch away. */
  async function enterForMember(
    request: MemberRequest,
    mayManage = ({ isOwner }: Entry) => isOwner,
  ): Promise<OneMember> {
    const entry = await enter(request);
    const { user: userId } = request.params;
    const member = mayManage(entry) ? await findMember(db, entry.business.businessId, userId) : undefined;
    if (!member) throw notFoundOrOtherBusiness(await findOtherBusinesses(request, entry.context), request);
    return { entry, member };
  }

  /** Other businesses that the user owns and that the member belongs to, too. */
  async function findOtherBusinesses({ params }: FastifyRequest, context: PageContext): Promise<Membership[]> {
    const { user: userId } = params as MemberRequest['params'];
    const owned = context.memberships.filter(
      ({ businessId, role }) => businessId !== context.current?.businessId && role === 'owner',
    );
    const found = await Promise.all(owned.map(({ businessId }) => findMember(db, businessId, userId)));
    return owned.filter((_, place) => found[place]);
  }

  return {
    ...deps,
    db,
    show,
    enter,

    /** To anyone else, what only owners may do is not there. */
    async enterAsOwner(request: FastifyRequest): Promise<Entry> {
      const entry = await enter(request);
      if (!entry.isOwner) throw notFound();
      return entry;
    },

    enterForMember,
    findOtherBusinesses,
  };
}

/** Every form says which business it is about: the one someone acts for may have changed in another tab. */
export function businessField({ business }: Entry): Html {
  return html`<input type="hidden" name="business" value="${business.businessId}">`;
}

export function refuseOtherBusiness({ business }: Entry, form: Form): void {
  if (text(form, 'business') === business.businessId) return;
  const sentence = `You now act for ${business.businessName}, and this form is about another business. Nothing was changed.`;
  throw new PageError(409, 'Another business', sentence);
}
