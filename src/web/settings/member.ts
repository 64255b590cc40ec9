import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findOwnership, hasOtherOwner, type Member } from '../../accounts/memberships.ts';
import { changeRole, listMemberConnections, removeMember } from '../../grants/member-changes.ts';
import { findSuccessor } from '../../grants/transfers.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { businessRoute } from '../business-address.ts';
import { avatar, badge } from '../components/display.ts';
import { roleBadge, roleField, unverifiedBadge } from '../components/product.ts';
import { dangerZone, pageHead, question, settings } from '../components/structure.ts';
import { confirmation, isConfirmed } from '../confirmation.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, postForm, problemText, text, time, tryForm } from '../forms.ts';
import { requireRecentSignIn } from '../session.ts';
import { mountMemberPasswordLink, passwordLinkSection } from './member-password-link.ts';
import { type MemberRoute, type MembersContext, membersPath, requireMember, sendMembersPage } from './members.ts';
import { ownerPowers } from './owner-powers.ts';
import { leavingConnections, readRemovalChoices, removalChoices } from './removal-choices.ts';

const MEMBER = businessRoute('members/:user');

/** Owners manage a member; every member can leave. */
export function mountMember(host: FastifyInstance, deps: WebDeps): void {
  for (const mount of [mountRole, mountMemberPasswordLink, mountRemoval]) mount(host, deps);
}

function mountRole(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;

  host.get<MemberRoute>(`${MEMBER}`, access('owner'), async (request, reply) => {
    const { context, member } = await requireMember(deps, request);
    const body = memberBody(context, member, { role: member.role });
    return sendMembersPage(reply, deps, { context, title: member.name, body });
  });

  host.post<MemberRoute>(`${MEMBER}/role`, access('owner'), async (request, reply) => {
    const { context, member } = await requireMember(deps, request);
    const role = text(request.body, 'role');
    if (role === 'owner' && member.role !== 'owner') {
      requireRecentSignIn(request, `${membersPath(context)}/${member.id}`, clock());
      if (!isConfirmed(request.body)) return askAboutOwner(deps, reply, { context, member, form: request.body });
    }
    const change = { userId: member.id, businessId: context.business.businessId, role };
    const set = async () => {
      if (!(await changeRole(context.actor, storage.durable, change, clock()))) throw notFound();
      return redirectWithFlash(reply, membersPath(context), 'role_changed');
    };
    return tryForm(set, (problem) => {
      const body = memberBody(context, member, { role, problem });
      return sendMembersPage(reply, deps, { context, title: member.name, body, status: 400 });
    });
  });
}

interface OwnerQuestion {
  context: MembersContext;
  member: Member;
  form: Form;
}

async function askAboutOwner(deps: WebDeps, reply: FastifyReply, { context, member, form }: OwnerQuestion) {
  const page = `${membersPath(context)}/${member.id}`;
  const title = `Make ${member.name} an owner of ${context.business.businessName}?`;
  const body = confirmation({
    title,
    back: { to: page, name: member.name },
    explanation: await ownerPowers(deps, context),
    button: 'Make them an owner',
    action: `${page}/role`,
    csrf: context.csrf,
    form,
  });
  return sendMembersPage(reply, deps, { context, title, body });
}

function mountRemoval(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const requireRemovable = (request: FastifyRequest<MemberRoute>) =>
    requireMember(deps, request, ({ isOwner, user }) => isOwner || request.params.user === user.id);

  host.get<MemberRoute>(`${MEMBER}/remove`, access('member'), async (request, reply) => {
    const { context, member } = await requireRemovable(request);
    return showRemoval(deps, reply, { context, member });
  });

  host.post<MemberRoute>(`${MEMBER}/remove`, access('member'), async (request, reply) => {
    const { context, member } = await requireRemovable(request);
    const choices = readRemovalChoices(request.body);
    const removal = { userId: member.id, businessId: context.business.businessId, choices };
    const remove = async () => {
      if (!(await removeMember(context.actor, storage.durable, removal, clock()))) throw notFound();
      if (member.id === context.user.id) return redirectWithFlash(reply, '/settings/connected-apps', 'left');
      return redirectWithFlash(reply, membersPath(context), 'member_removed');
    };
    return tryForm(remove, (problem) => showRemoval(deps, reply, { context, member, problem }));
  });
}

interface RemovalQuestion {
  context: MembersContext;
  member: Member;
  problem?: Problem;
}

async function showRemoval(
  deps: WebDeps,
  reply: FastifyReply,
  { context, member, problem }: RemovalQuestion,
): Promise<FastifyReply> {
  const db = deps.storage.durable;
  const parties = { userId: member.id, businessId: context.business.businessId };
  const isLastOwner = member.role === 'owner' && !(await hasOtherOwner(db, parties));
  const title = isLastOwner ? `You cannot leave ${context.business.businessName} yet` : removalTitle(context, member);
  const body = isLastOwner
    ? lastOwnerBody(context, title, problem)
    : removalBody(context, { member, effects: await removalEffects(deps, { context, member, problem }), problem });
  return sendMembersPage(reply, deps, { context, title, body, status: problem ? 400 : 200 });
}

async function removalEffects(
  { storage, clock }: WebDeps,
  { context, member, problem }: RemovalQuestion,
): Promise<Html> {
  const parties = { userId: member.id, businessId: context.business.businessId };
  const connections = await listMemberConnections(storage.durable, parties, clock());
  if (member.id !== context.user.id) return removalChoices(context, { member, connections, problem });
  const successor = findSuccessor(await findOwnership(storage.durable, parties), context.user);
  return leavingConnections(context, { connections, successor });
}

function memberBody(
  context: MembersContext,
  member: Member,
  { role, problem }: { role: string; problem?: Problem | undefined },
): Html {
  const isSelf = member.id === context.user.id;
  const { businessName } = context.business;
  const facts = html`<dl class="facts">
<div><dt>Email</dt><dd>${member.email} ${unverifiedBadge(member)}</dd></div>
<div><dt>Role</dt><dd>${roleBadge(member.role)}</dd></div>
<div><dt>Since</dt><dd>${time(member.since)}</dd></div>
</dl>`;
  return html`${pageHead({ title: member.name, avatar: avatar(member), badges: isSelf && badge('You'), intro: isSelf ? `Your role in ${businessName}.` : `Their role in ${businessName}, and a new password if they need one.`, back: { to: membersPath(context), name: 'Members' } })}
${settings({ title: `In ${businessName}`, body: facts })}
${roleSection(context, member, { role, problem })}
${!isSelf && passwordLinkSection(context, member)}
${dangerZone([
  {
    title: isSelf ? `Leave ${businessName}` : `Remove from ${businessName}`,
    text: isSelf
      ? `The apps that you connected to ${businessName} lose their access, except for those that you connected for the business.`
      : `You decide what happens to the apps that they connected to ${businessName}.`,
    action: html`<a class="button danger" href="${membersPath(context)}/${member.id}/remove">${isSelf ? 'Leave' : 'Remove'}…</a>`,
  },
])}`;
}

function roleSection(
  context: MembersContext,
  member: Member,
  { role, problem }: { role: string; problem?: Problem | undefined },
): Html {
  return settings({
    title: 'Change the role',
    intro:
      'The change applies immediately. If an owner gets another role, the invitations that they created are withdrawn. If an owner or admin becomes a member, you become responsible for the apps that they connected for the business.',
    body: postForm({
      action: `${membersPath(context)}/${member.id}/role`,
      csrf: context.csrf,
      body: html`${roleField(role, problem)}
<button class="primary">Save</button>`,
    }),
  });
}

function removalTitle({ user, business }: MembersContext, member: Member): string {
  const { businessName } = business;
  return member.id === user.id ? `Leave ${businessName}?` : `Remove ${member.name} from ${businessName}?`;
}

/** Shown to the last owner, who wants to leave. */
function lastOwnerBody(context: MembersContext, title: string, problem: Problem | undefined): Html {
  return question({
    title,
    back: { to: membersPath(context), name: 'Members' },
    body: html`${problem && problemText(problem)}
<p>You are the only owner. Make someone else an owner first: choose them under <a href="${membersPath(context)}">Members</a>.</p>`,
  });
}

interface Removal {
  member: Member;
  /** What becomes of the connections. */
  effects: Html;
  problem: Problem | undefined;
}

function removalBody(context: MembersContext, { member, effects, problem }: Removal): Html {
  const { businessName } = context.business;
  const isSelf = member.id === context.user.id;
  const page = `${membersPath(context)}/${member.id}`;
  const form = html`${effects}
${member.role === 'owner' && html`<p>Invitations that ${isSelf ? 'you have' : `${member.name} has`} created no longer work.</p>`}
<p>To come back, ${isSelf ? 'you' : 'they'} need a new invitation, and apps have to be connected again.</p>
<div class="form-actions"><a class="button secondary" href="${isSelf ? membersPath(context) : page}">Cancel</a>
<button class="danger">${isSelf ? `Leave ${businessName}` : `Remove ${member.name}`}</button></div>`;
  return question({
    title: removalTitle(context, member),
    back: isSelf ? { to: membersPath(context), name: 'Members' } : { to: page, name: member.name },
    body: html`${problem && problem.field !== 'connections' && problemText(problem)}
${postForm({ action: `${page}/remove`, csrf: context.csrf, body: form })}`,
  });
}
