import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type App, changeApp, findApp } from '../../../apps/apps.ts';
import { FormError } from '../../../lib/errors.ts';
import { commonScopes, type Scopes } from '../../../lib/scope-lists.ts';
import { newSecret } from '../../../lib/secrets.ts';
import { notFound, PageError } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { type Form, list, type Problem, text, tryForm } from '../../forms.ts';
import { actorOf, requireSession } from '../../session.ts';
import type { AppRequest, Desk } from '../app-page.ts';
import { authorizeBody, type Question, readCallback, readPasted, startBody, switchBody } from './authorize.ts';
import type { Trial } from './layout.ts';
import { sendCall } from './requests.ts';
import { keepWalk, openWalk, type PlaygroundState } from './state.ts';
import { callbackBody, retryBody, stepBody } from './step-views.ts';
import { isStep, STEPS, type StepName } from './steps.ts';

type ForApp = { Params: { id: string }; Body: Form };
type ForStep = { Params: { id: string; step: string }; Body: Form };

/** The flow for real, step by step, for those who may change the app. */
export function mountTryIt(host: FastifyInstance, desk: Desk): void {
  const tryDesk = openTryDesk(desk);
  const path = `${desk.section.path}/:id/try`;
  for (const mount of [mountStart, mountReturnAddress, mountPaste, mountSteps]) mount(host, tryDesk, path);
  mountReturn(host, tryDesk);
}

function mountStart(
  host: FastifyInstance,
  { section, show, keep, enterTrial, showStart }: TryDesk,
  path: string,
): void {
  host.get<ForApp>(path, section.edit, async (request, reply) => showStart(reply, await enterTrial(request)));

  host.post<ForApp>(path, section.edit, async (request, reply) => {
    const trial = await enterTrial(request);
    const question = readQuestion(request.body, trial.app);
    const begin = async () => {
      refuseEmpty(question, trial.app);
      const walk = { appId: trial.app.id, verifier: newSecret(), ...question };
      return show(reply, trial.entry, authorizeBody(trial, walk, keep(request, walk)));
    };
    return tryForm(begin, (problem) => showStart(reply, trial, { question, problem }));
  });
}

function readQuestion(form: Form, { allowedScopes }: App): Question {
  return { scopes: commonScopes(allowedScopes, list(form, 'scope')), redirectUri: text(form, 'redirect_uri') };
}

function refuseEmpty({ scopes, redirectUri }: Question, { redirectUris }: App): void {
  if (scopes.length === 0) throw new FormError('scope', 'Choose at least one scope.');
  if (!redirectUris.includes(redirectUri)) throw new FormError('redirect_uri', 'Choose one of the redirect URIs.');
}

function mountReturnAddress(host: FastifyInstance, desk: TryDesk, path: string): void {
  host.post<ForApp>(`${path}/return-address`, desk.section.edit, async (request, reply) => {
    const trial = await desk.enterTrial(request);
    const change = async () => {
      await setReturnAddress(desk, request, trial.app.id);
      return redirectWithFlash(reply, `${trial.path}/try`, 'saved');
    };
    return tryForm(change, (problem) => desk.showStart(reply, trial, { problem }));
  });
}

/** An owner may let answers come to these pages, as they may let them go to any other address. */
async function setReturnAddress(
  { db, clock, returnAddress }: TryDesk,
  request: FastifyRequest<ForApp>,
  appId: string,
): Promise<void> {
  const isWanted = text(request.body, 'answer') === 'add';
  const change = (app: App) => {
    if (isWanted === app.redirectUris.includes(returnAddress)) return app;
    const others = app.redirectUris.filter((uri) => uri !== returnAddress);
    return { ...app, redirectUris: isWanted ? [...others, returnAddress] : others };
  };
  if (!(await changeApp(actorOf(request), db, { appId, change }, clock()))) throw notFound();
}

/** What was pasted takes the way that it would have come by itself. */
function mountPaste(host: FastifyInstance, { section, show, open, enterTrial, showLost }: TryDesk, path: string): void {
  host.post<ForApp>(`${path}/callback`, section.edit, async (request, reply) => {
    const [state, pasted] = [text(request.body, 'walk'), text(request.body, 'pasted')];
    const walk = open(request, state);
    if (walk?.appId !== request.params.id) return showLost(reply, await enterTrial(request));
    const goOn = async () => reply.redirect(`${section.path}/try?${readPasted(pasted, state)}`, 303);
    return tryForm(goOn, async (problem) => {
      const trial = await enterTrial(request);
      return show(reply, trial.entry, authorizeBody(trial, walk, state, { pasted, problem }), 400);
    });
  });
}

/** One address for all apps: the state says which of them was tried, and by whom. */
function mountReturn(host: FastifyInstance, desk: TryDesk): void {
  const { section, issuer, returnAddress, show, open, keep, findOwn } = desk;
  host.get<{ Querystring: Form }>(`${section.path}/try`, section.list, async (request, reply) => {
    const walk = open(request, text(request.query, 'state'));
    const callback = readCallback(request.query);
    if (!walk || !callback || (callback.iss !== '' && callback.iss !== issuer)) throw notAnAnswer();
    if (await isElsewhere(desk, request, reply, walk)) return reply;
    const entry = await section.enter(request);
    const app = await findOwn(entry, walk.appId, { request, changes: true });
    const trial = { section, entry, app, path: `${section.path}/${app.id}`, issuer, returnAddress };
    const learned = { ...walk, code: callback.code };
    return show(reply, entry, callbackBody({ trial, walk: learned, kept: keep(request, learned) }, callback));
  });
}

function notAnAnswer(): PageError {
  const sentence =
    'This is no answer to a request that you have made here in the last 30 minutes. Open the app and try it again.';
  return new PageError(400, 'Not an answer', sentence);
}

/** On the way someone may have chosen another business to act for; to them, and to them only, the app is elsewhere. */
async function isElsewhere(
  { section, db, show }: TryDesk,
  request: FastifyRequest,
  reply: FastifyReply,
  walk: PlaygroundState,
): Promise<boolean> {
  const entry = await section.enter(request);
  const app = await findApp(db, walk.appId);
  if (!app || app.ownerBusinessId === entry.ownerBusinessId) return false;
  const home = entry.context.memberships.find(({ businessId }) => businessId === app.ownerBusinessId);
  if (!home || home.role === 'member') return false;
  show(reply, entry, switchBody(app, { ...home, csrf: entry.context.csrf, url: request.url }), 409);
  return true;
}

function mountSteps(host: FastifyInstance, desk: TryDesk, path: string): void {
  const { section, show, open, keep, enterTrial, showLost } = desk;
  host.post<ForStep>(`${path}/:step`, section.edit, async (request, reply) => {
    const trial = await enterTrial(request);
    const { step: name } = request.params;
    if (!isStep(name)) throw notFound();
    const kept = text(request.body, 'walk');
    const walk = open(request, kept);
    if (walk?.appId !== trial.app.id || !STEPS[name].isPossible(walk)) return showLost(reply, trial);
    const take = async () => {
      const { learned, ...sent } = await takeStep(trial.issuer, name, withSecret(name, walk, request.body));
      return show(reply, trial.entry, stepBody({ trial, walk: learned, kept: keep(request, learned) }, sent));
    };
    return tryForm(take, (problem) => show(reply, trial.entry, retryBody({ trial, walk, kept, problem }, name), 400));
  });
}

/** Typed once, where it is first needed. */
function withSecret(name: StepName, walk: PlaygroundState, form: Form): PlaygroundState {
  if (name !== 'exchange') return walk;
  const secret = text(form, 'client_secret').trim();
  if (secret === '') throw new FormError('client_secret', 'Enter one of the app’s secrets.');
  if (!/^[\x21-\x7e]{1,200}$/.test(secret)) {
    throw new FormError('client_secret', 'A secret starts with gcs_ and has no spaces.');
  }
  return { ...walk, secret };
}

async function takeStep(issuer: string, name: StepName, walk: PlaygroundState) {
  const { secret = '', tokens } = walk;
  const call = STEPS[name].call(issuer, walk);
  const secrets = { CLIENT_SECRET: secret, ACCESS_TOKEN: tokens?.access ?? '', REFRESH_TOKEN: tokens?.refresh ?? '' };
  const answer = await sendCall(call, secrets);
  return { name, call, answer, learned: answer ? STEPS[name].learn(walk, answer) : walk };
}

type TryDesk = ReturnType<typeof openTryDesk>;

/** What every page of a walk does: let in, know how far someone has come, and begin again where that cannot be known. */
function openTryDesk(desk: Desk) {
  const { keys, clock, issuer, consentUrl, section, enterApp, show } = desk;
  const returnAddress = `${consentUrl}${section.path}/try`;

  function showStart(reply: FastifyReply, trial: Trial, { question, problem }: Start = {}): FastifyReply {
    const body = startBody(trial, question ?? usualQuestion(trial), problem);
    return show(reply, trial.entry, body, problem ? 400 : 200);
  }

  return {
    ...desk,
    returnAddress,
    showStart,

    async enterTrial(request: AppRequest): Promise<Trial> {
      return { section, ...(await enterApp(request)), issuer, returnAddress };
    },

    keep: (request: FastifyRequest, walk: PlaygroundState): string =>
      keepWalk({ keys, session: requireSession(request) }, walk, clock()),

    open: (request: FastifyRequest, kept: string): PlaygroundState | undefined =>
      openWalk({ keys, session: requireSession(request) }, kept, clock()),

    showLost: (reply: FastifyReply, trial: Trial): FastifyReply =>
      showStart(reply, trial, {
        problem: { field: 'walk', message: 'Start again: this was begun over 30 minutes ago, or by someone else.' },
      }),
  };
}

interface Start {
  question?: Question;
  problem?: Problem;
}

/** Nobody is asked for more than to be looked at, unless the developer says so. */
function usualQuestion({ app, returnAddress }: Trial): Question {
  const { redirectUris } = app;
  const redirectUri = redirectUris.includes(returnAddress) ? returnAddress : (redirectUris[0] ?? '');
  return { scopes: usualScopes(app), redirectUri };
}

function usualScopes({ allowedScopes }: App): Scopes {
  return allowedScopes.includes('read:invoices') ? ['read:invoices'] : allowedScopes;
}
