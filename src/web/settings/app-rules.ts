import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type App, findApp } from '../../apps/apps.ts';
import {
  blockApp,
  type Decision,
  decideRequest,
  isKnownApp,
  withdrawAppDecision,
  withdrawRequestDecision,
} from '../../grants/app-approvals.ts';
import { changeAppPolicy, readWho } from '../../grants/app-policies.ts';
import { findRequest } from '../../grants/app-requests.ts';
import { countConnectedUsers } from '../../grants/connected-users.ts';
import { html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { readReason } from '../../lib/names.ts';
import { parseScopes } from '../../lib/scope-lists.ts';
import { access } from '../access.ts';
import { businessRoute } from '../business-address.ts';
import { pluralizeCount } from '../components/product.ts';
import { question } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, input, type Problem, postForm, text, tryForm } from '../forms.ts';
import { appRulesBody, appRulesPath } from './app-rules-views.ts';
import { loadMembersContext, type MembersContext, sendMembersPage } from './members.ts';

type AppRoute = { Params: { app: string }; Body: Form };
type RequestRoute = { Params: { app: string; user: string }; Body: Form };

const APP_RULES = businessRoute('settings/apps');

/** Owners decide which apps may connect. */
export function mountAppRules(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;

  host.get(APP_RULES, access('owner'), async (request, reply) => sendAppRules(deps, request, reply));

  host.post<{ Body: Form }>(`${APP_RULES}/policy`, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const save = async () => {
      const who = readWho(text(request.body, 'who'));
      const reservesSensitive = text(request.body, 'reserves') === 'yes';
      const policy = { businessId: context.business.businessId, who, reservesSensitive };
      if (!(await changeAppPolicy(context.actor, storage.durable, policy, clock()))) throw notFound();
      return redirectWithFlash(reply, appRulesPath(context), 'saved');
    };
    return tryForm(save, (problem) => sendAppRules(deps, request, reply, problem));
  });

  mountRequests(host, deps);
  mountBlocking(host, deps);
}

async function sendAppRules(deps: WebDeps, request: FastifyRequest, reply: FastifyReply, problem?: Problem) {
  const context = await loadMembersContext(deps, request);
  const body = await appRulesBody(deps, context, problem);
  return sendMembersPage(reply, deps, { context, title: 'Apps', body, status: problem ? 400 : 200 });
}

const FLASHES = {
  approve_person: 'app_approved_person',
  approve_all: 'app_approved_all',
  refuse: 'app_refused',
} as const;

function mountRequests(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const path = `${APP_RULES}/:app/requests/:user`;

  host.post<RequestRoute>(path, access('owner'), async (request, reply) => {
    const { context, key } = await requireRequest(deps, request);
    const decide = async () => {
      const decision = text(request.body, 'decision');
      if (!isDecision(decision)) throw notFound();
      const reason = readReason('reason', text(request.body, 'reason'));
      const scopes = parseScopes(text(request.body, 'scopes'));
      const decided = { ...key, businessName: context.business.businessName, decision, reason, scopes };
      if (!(await decideRequest(context.actor, storage.durable, decided, clock()))) throw notFound();
      return redirectWithFlash(reply, appRulesPath(context), FLASHES[decision]);
    };
    return tryForm(decide, (problem) => sendAppRules(deps, request, reply, problem));
  });

  host.post<RequestRoute>(`${path}/withdraw`, access('owner'), async (request, reply) => {
    const { context, app, key } = await requireRequest(deps, request);
    if (!(await withdrawRequestDecision(context.actor, storage.durable, { app, ...key }, clock()))) throw notFound();
    return redirectWithFlash(reply, appRulesPath(context), 'app_decision_withdrawn');
  });
}

function isDecision(text: string): text is Decision {
  return Object.hasOwn(FLASHES, text);
}

function mountBlocking(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const path = `${APP_RULES}/:app`;

  host.get<AppRoute>(`${path}/block`, access('owner'), async (request, reply) =>
    sendBlockPage(deps, reply, await requireKnownApp(deps, request)),
  );

  host.post<AppRoute>(`${path}/block`, access('owner'), async (request, reply) => {
    const { context, app } = await requireKnownApp(deps, request);
    const block = async () => {
      const reason = readReason('reason', text(request.body, 'reason'));
      const blocked = { app, businessId: context.business.businessId, reason };
      if (!(await blockApp(context.actor, storage.durable, blocked, clock()))) throw notFound();
      return redirectWithFlash(reply, appRulesPath(context), 'app_blocked');
    };
    return tryForm(block, (problem) => sendBlockPage(deps, reply, { context, app, problem }));
  });

  host.post<AppRoute>(`${path}/withdraw`, access('owner'), async (request, reply) => {
    const { context, app } = await requireKnownApp(deps, request);
    const { businessId } = context.business;
    const withdrawn = await withdrawAppDecision(context.actor, storage.durable, { app, businessId }, clock());
    if (!withdrawn) throw notFound();
    return redirectWithFlash(
      reply,
      appRulesPath(context),
      withdrawn === 'blocked' ? 'app_unblocked' : 'app_decision_withdrawn',
    );
  });
}

interface BlockPage {
  context: MembersContext;
  app: App;
  problem?: Problem;
}

async function sendBlockPage(deps: WebDeps, reply: FastifyReply, { context, app, problem }: BlockPage) {
  const { businessId, businessName } = context.business;
  const counted = await countConnectedUsers(deps.storage.durable, { appId: app.id, businessId }, deps.clock());
  const title = `Block ${app.name}?`;
  const reason = { name: 'reason', label: 'Reason (optional)', hint: 'Shown to members who try to connect the app.' };
  const form = {
    action: `${appRulesPath(context)}/${app.id}/block`,
    csrf: context.csrf,
    body: html`${input({ ...reason, optional: true }, problem)}
<div class="form-actions"><a class="button secondary" href="${appRulesPath(context)}">Cancel</a><button class="danger">Block app</button></div>`,
  };
  const explanation = html`<p>Every token that ${app.name} has in ${businessName} stops working at once, and nobody can connect it again, until an owner unblocks it.</p>
<p>Connected by ${pluralizeCount(counted.users, counted, 'person', 'people')} now.</p>
${postForm(form)}`;
  const body = question({ title, back: { to: appRulesPath(context), name: 'Apps' }, body: explanation });
  return sendMembersPage(reply, deps, { context, title, body, status: problem ? 400 : 200 });
}

/** 404 for apps that have nothing to do with the business, so that an owner cannot look up the apps of others. */
async function requireKnownApp(deps: WebDeps, request: FastifyRequest<AppRoute>) {
  const context = await loadMembersContext(deps, request);
  const { businessId } = context.business;
  const app = await findApp(deps.storage.durable, request.params.app);
  if (!app || !(await isKnownApp(deps.storage.durable, { app, businessId }))) throw notFound();
  return { context, app };
}

async function requireRequest(deps: WebDeps, request: FastifyRequest<RequestRoute>) {
  const context = await loadMembersContext(deps, request);
  const { app: appId, user: userId } = request.params;
  const key = { businessId: context.business.businessId, appId, userId };
  const app = await findApp(deps.storage.durable, appId);
  const found = app && isId(userId) ? await findRequest(deps.storage.durable, key) : undefined;
  if (!app || !found) throw notFound();
  return { context, app, key };
}
