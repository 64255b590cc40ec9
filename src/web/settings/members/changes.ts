import type { FastifyInstance, FastifyReply } from 'fastify';
import { hasOtherOwner, type Member } from '../../../accounts/memberships.ts';
import { changeRole } from '../../../accounts/ownership.ts';
import type { App } from '../../../apps/apps.ts';
import { depart, listAppsAllowedBy } from '../../../grants/member-removal.ts';
import { type Html, html } from '../../../lib/html.ts';
import { access } from '../../access.ts';
import { unverifiedBadge } from '../../components.ts';
import { notFound } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { type Form, type Problem, postForm, problemText, text, time, tryForm } from '../../forms.ts';
import { businessField, type Entry, type MemberDesk, type MemberRequest, PATH, refuseOtherBusiness } from './desk.ts';
import { roleBadge, roleField } from './fields.ts';
import { passwordLinkSection } from './password-links.ts';

type ForMember = { Params: { user: string }; Body: Form };

/** What owners decide about a member; and anyone may leave. */
export function mountMemberChanges(host: FastifyInstance, desk: MemberDesk): void {
  mountRole(host, desk);
  mountRemoval(host, desk);
}

function mountRole(
  host: FastifyInstance,
  { storage, clock, show, enterForMember, findOtherBusinesses }: MemberDesk,
): void {
  host.get<ForMember>(`${PATH}/:user`, access('owner', findOtherBusinesses), async (request, reply) => {
    const { entry, member } = await enterForMember(request);
    return show(reply, entry, { title: member.name, body: memberBody(entry, member, { role: member.role }) });
  });

  host.post<ForMember>(`${PATH}/:user/role`, access('owner', findOtherBusinesses), async (request, reply) => {
    const { entry, member } = await enterForMember(request);
    refuseOtherBusiness(entry, request.body);
    const role = text(request.body, 'role');
    const change = { userId: member.id, businessId: entry.business.businessId, role, by: entry.by };
    const set = async () => {
      if (!(await storage.transaction((db) => changeRole(db, change, clock())))) throw notFound();
      return redirectWithFlash(reply, PATH, 'role_changed');
    };
    return tryForm(set, (problem) =>
      show(reply, entry, { title: member.name, body: memberBody(entry, member, { role, problem }) }, 400),
    );
  });
}

function mountRemoval(host: FastifyInstance, desk: MemberDesk): void {
  const { storage, clock, db, show, enterForMember } = desk;
  const enterToRemove = (request: MemberRequest) =>
    enterForMember(request, ({ isOwner, context }) => isOwner || request.params.user === context.user.id);

  async function ask(reply: FastifyReply, entry: Entry, member: Member, problem?: Problem): Promise<FastifyReply> {
    const parties = { userId: member.id, businessId: entry.business.businessId };
    const title = removalTitle(entry, member);
    if (member.role === 'owner' && !(await hasOtherOwner(db, parties))) {
      return show(reply, entry, { title, body: lastOwnerBody(title, problem) }, problem ? 400 : 200);
    }
    const apps = await listAppsAllowedBy(db, parties, clock());
    return show(reply, entry, { title, body: removalBody(entry, { member, apps, problem }) }, problem ? 400 : 200);
  }

  host.get<ForMember>(`${PATH}/:user/remove`, access('member'), async (request, reply) => {
    const { entry, member } = await enterToRemove(request);
    return ask(reply, entry, member);
  });

  host.post<ForMember>(`${PATH}/:user/remove`, access('member'), async (request, reply) => {
    const { entry, member } = await enterToRemove(request);
    refuseOtherBusiness(entry, request.body);
    const parties = { userId: member.id, businessId: entry.business.businessId, by: entry.by };
    const remove = async () => {
      if (!(await storage.transaction((tx) => depart(tx, parties, clock())))) throw notFound();
      if (member.id === entry.context.user.id) return redirectWithFlash(reply, '/settings/connected-apps', 'left');
      return redirectWithFlash(reply, PATH, 'member_removed');
    };
    return tryForm(remove, (problem) => ask(reply, entry, member, problem));
  });
}

function memberBody(entry: Entry, member: Member, { role, problem }: { role: string; problem?: Problem }): Html {
  const isSelf = member.id === entry.context.user.id;
  return html`<h1>${member.name}</h1>
<section class="card"><h2>In ${entry.business.businessName}</h2>
<dl class="facts">
<div><dt>Email</dt><dd>${member.email} ${unverifiedBadge(member)}</dd></div>
<div><dt>Role now</dt><dd>${roleBadge(member.role)}</dd></div>
<div><dt>Since</dt><dd>${time(member.since)}</dd></div>
</dl></section>
${postForm({
  action: `${PATH}/${member.id}/role`,
  csrf: entry.context.csrf,
  style: 'card',
  body: html`<h2>Change the role</h2>
${businessField(entry)}
${roleField(role, problem)}
<p class="muted small">It counts at once. Invitations that an owner has made end when they stop being one.</p>
<button class="primary">Save</button>`,
})}
${!isSelf && passwordLinkSection(entry, member)}
<section class="card"><h2>${isSelf ? 'Leave' : 'Remove'}</h2>
<p>What ${isSelf ? 'you' : 'they'} allowed in ${entry.business.businessName} stops working.</p>
<p><a class="button danger" href="${PATH}/${member.id}/remove">${isSelf ? 'Leave' : 'Remove'}…</a></p></section>
<p><a href="${PATH}">All members</a></p>`;
}

function removalTitle({ context, business }: Entry, member: Member): string {
  const { businessName } = business;
  return member.id === context.user.id ? `Leave ${businessName}?` : `Remove ${member.name} from ${businessName}?`;
}

/** Only of oneself: whoever looks is an owner too. */
function lastOwnerBody(title: string, problem: Problem | undefined): Html {
  return html`<div class="card"><h1>${title}</h1>
${problem && problemText(problem)}
<p>You are the only owner. Make someone else an owner first: then you can leave.</p>
<p><a class="button secondary" href="${PATH}">All members</a></p></div>`;
}

const NAMED_AT_MOST = 20;

interface Removal {
  member: Member;
  apps: App[];
  problem: Problem | undefined;
}

function removalBody(entry: Entry, { member, apps, problem }: Removal): Html {
  const { businessName } = entry.business;
  const isSelf = member.id === entry.context.user.id;
  const more = apps.length - NAMED_AT_MOST;
  return html`<div class="card"><h1>${removalTitle(entry, member)}</h1>
${problem && problemText(problem)}
${
  apps.length > 0
    ? html`<p>These apps act for ${isSelf ? 'you' : member.name} in ${businessName}, and lose their access at once:</p>
<ul>${apps.slice(0, NAMED_AT_MOST).map(({ name }) => html`<li>${name}</li>`)}${more > 0 && html`<li>and ${String(more)} more</li>`}</ul>`
    : html`<p>No app acts for ${isSelf ? 'you' : member.name} in ${businessName}.</p>`
}
${member.role === 'owner' && html`<p>Invitations that ${isSelf ? 'you have' : `${member.name} has`} made no longer work.</p>`}
<p>${isSelf ? 'To come back, you need a new invitation.' : 'To come back, they need a new invitation.'} What was allowed stays ended.</p>
<div class="answers"><a class="button secondary" href="${PATH}">${isSelf ? 'Stay' : 'Keep them'}</a>
${postForm({
  action: `${PATH}/${member.id}/remove`,
  csrf: entry.context.csrf,
  body: html`${businessField(entry)}<button class="danger">${isSelf ? `Leave ${businessName}` : `Remove ${member.name}`}</button>`,
})}</div></div>`;
}
