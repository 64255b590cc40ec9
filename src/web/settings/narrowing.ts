import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { canNarrow, narrowConnection } from '../../grants/narrowing.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { commonScopes, scopesBeyond } from '../../lib/scope-lists.ts';
import { listScopes, type Scope } from '../../oauth/scopes.ts';
import { access } from '../access.ts';
import { question } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { ariaAttributes, type Form, list, type Problem, postForm, problemText, tryForm } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { CONNECTED_APPS, connectionPath } from './disconnecting.ts';
import { loadMembersContext, type MembersContext } from './members.ts';

type Parties = Pick<Connection, 'app' | 'business' | 'user'>;
type Params = { app: string; user: string };

export function narrowingPath({ app, business, user }: Parties): string {
  return `${connectionPath({ app, business, user })}/permissions`;
}

/** Users withdraw scopes of their own connections, owners those of every member. */
export function mountNarrowing(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:app/:user/permissions`;
  type Route = { Params: Params; Body: Form };

  host.get<{ Params: Params }>(path, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    return showForm(deps, { context, reply }, await requireConnection(deps, context, request.params));
  });

  host.post<Route>(path, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const connection = await requireConnection(deps, context, request.params);
    const { app, business, user, scopes } = connection;
    const narrow = async () => {
      // What the form did not show stays: the user may have allowed it since.
      const unticked = scopesBeyond(list(request.body, 'shown'), list(request.body, 'scope'));
      const withdrawn = commonScopes(scopes, unticked);
      if (withdrawn.length === scopes.length) throw new FormError('scope', NOTHING_LEFT);
      const narrowing = { app, businessId: business.id, user, withdrawn };
      const isNarrower = await narrowConnection(context.actor, deps.storage.durable, narrowing, deps.clock());
      const path = connectionPath(connection);
      return isNarrower ? redirectWithFlash(reply, path, 'narrowed') : reply.redirect(path, 303);
    };
    return tryForm(narrow, (problem) => showForm(deps, { context, reply }, connection, problem));
  });
}

const NOTHING_LEFT = 'Keep at least one. To end all access, disconnect the app.';

/** 404 for connections of others, except for owners of the business. */
async function requireConnection(
  { storage, clock }: WebDeps,
  { user, business, isOwner }: MembersContext,
  { app: appId, user: userId }: Params,
): Promise<Connection> {
  const isPermitted = isId(appId) && isId(userId) && (userId === user.id || isOwner);
  const filter = { businessIds: [business.businessId], appId, userId };
  const [connection] = isPermitted ? await listConnections(storage.durable, filter, clock()) : [];
  if (!connection || !canNarrow(connection.app)) throw notFound();
  return connection;
}

async function showForm(
  deps: WebDeps,
  { context, reply }: { context: MembersContext; reply: FastifyReply },
  connection: Connection,
  problem?: Problem,
): Promise<FastifyReply> {
  const { app, business, user, scopes } = connection;
  const title = `What ${app.name} may do`;
  const whose = user.id === context.user.id ? 'you' : user.name;
  const form = html`<fieldset class="field" ${ariaAttributes('scope', { wrong: problem !== undefined })}>
<legend class="visually-hidden">What ${app.name} may do in ${business.name}</legend>
${scopes.map((name) => html`<input type="hidden" name="shown" value="${name}">`)}
${boxes('read', connection)}
${boxes('write', connection)}
${problem && problemText(problem)}</fieldset>
<div class="form-actions"><a class="button secondary" href="${connectionPath(connection)}">Cancel</a>
<button class="primary">Save</button></div>`;
  const explained = html`<p>Untick the permissions to withdraw. ${app.name} loses them immediately for ${whose} in ${business.name}, and is notified.</p>
${postForm({ action: narrowingPath(connection), csrf: context.csrf, body: form })}
<p class="muted small">To restore them later, connect again from ${app.name}.</p>`;
  const body = question({ title, back: { to: connectionPath(connection), name: app.name }, body: explained });
  const page = { title, platformName: deps.platformName, width: 'wide', context, body } as const;
  return sendPage(reply, page, { status: problem ? 400 : 200 });
}

function boxes(kind: Scope['kind'], { scopes }: Connection): Html[] {
  const listed = listScopes(scopes).filter((scope) => scope.kind === kind);
  return listed.map(
    ({ name, meaning }) =>
      html`<label class="choice"><input type="checkbox" name="scope" value="${name}" checked><span>${meaning}</span></label>`,
  );
}
