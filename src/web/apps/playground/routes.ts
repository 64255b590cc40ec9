import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { changeApp } from '../../../apps/app-changes.ts';
import type { App } from '../../../apps/apps.ts';
import { FormError } from '../../../lib/errors.ts';
import type { Html } from '../../../lib/html.ts';
import { commonScopes, type Scopes } from '../../../lib/scope-lists.ts';
import { newSecret } from '../../../lib/secrets.ts';
import { notFound, PageError } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { type Form, list, type Problem, text, tryForm } from '../../forms.ts';
import { actorOf, requireSession } from '../../session.ts';
import { type AppPages, type AppRequest, findOwnApp, type Viewer } from '../app-page.ts';
import { type AuthorizeChoices, authorizeBody, readCallback, readPasted, startBody } from './authorize.ts';
import type { Playground } from './layout.ts';
import { sendCall } from './requests.ts';
import { callbackBody, retryBody, stepBody } from './step-views.ts';
import { decryptState, encryptState, isStep, type PlaygroundState, STEPS, type StepName } from './steps.ts';

type ForApp = { Params: { id: string }; Body: Form };
type ForStep = { Params: { id: string; step: string }; Body: Form };

/** Runs the real OAuth flow step by step, for those who may change the app. */
export function mountPlayground(host: FastifyInstance, pages: AppPages): void {
  const playgroundPages = createPlaygroundPages(pages);
  const path = `${pages.section.route}/:id/try`;
  for (const mount of [mountStart, mountReturnAddress, mountPaste, mountSteps]) mount(host, playgroundPages, path);
  mountReturn(host, playgroundPages);
}

function mountStart(
  host: FastifyInstance,
  { section, showTry, encryptProgress, loadPlayground, showStart }: PlaygroundPages,
  path: string,
): void {
  host.get<ForApp>(path, section.edit, async (request, reply) => showStart(reply, await loadPlayground(request)));

  host.post<ForApp>(path, section.edit, async (request, reply) => {
    const playground = await loadPlayground(request);
    const choices = readChoices(request.body, playground.app);
    const begin = async () => {
      requireChoices(choices, playground.app);
      const progress = { appId: playground.app.id, verifier: newSecret(), ...choices };
      return showTry(reply, playground, authorizeBody(playground, progress, encryptProgress(request, progress)));
    };
    return tryForm(begin, (problem) => showStart(reply, playground, { choices, problem }));
  });
}

function readChoices(form: Form, { allowedScopes }: App): AuthorizeChoices {
  return { scopes: commonScopes(allowedScopes, list(form, 'scope')), redirectUri: text(form, 'redirect_uri') };
}

function requireChoices({ scopes, redirectUri }: AuthorizeChoices, { redirectUris }: App): void {
  if (scopes.length === 0) throw new FormError('scope', 'Choose at least one scope.');
  if (!redirectUris.includes(redirectUri)) throw new FormError('redirect_uri', 'Choose one of the redirect URIs.');
}

function mountReturnAddress(host: FastifyInstance, pages: PlaygroundPages, path: string): void {
  host.post<ForApp>(`${path}/return-address`, pages.section.edit, async (request, reply) => {
    const playground = await pages.loadPlayground(request);
    const change = async () => {
      await setReturnAddress(pages, request, playground);
      return redirectWithFlash(reply, `${playground.path}/try`, 'saved');
    };
    return tryForm(change, (problem) => pages.showStart(reply, playground, { problem }));
  });
}

/** Adds this page to the redirect URIs of the app, or removes it. */
async function setReturnAddress(
  { db, clock }: PlaygroundPages,
  request: FastifyRequest<ForApp>,
  { app: { id: appId }, returnAddress }: Playground,
): Promise<void> {
  const isWanted = text(request.body, 'change') === 'add';
  const change = (app: App) => {
    if (isWanted === app.redirectUris.includes(returnAddress)) return app;
    const others = app.redirectUris.filter((uri) => uri !== returnAddress);
    return { ...app, redirectUris: isWanted ? [...others, returnAddress] : others };
  };
  if (!(await changeApp(actorOf(request), db, { appId, change }, clock()))) throw notFound();
}

/** Redirects to the page that receives responses, as if the response had arrived there. */
function mountPaste(
  host: FastifyInstance,
  { section, showTry, decryptProgress, loadPlayground, showExpired }: PlaygroundPages,
  path: string,
): void {
  host.post<ForApp>(`${path}/callback`, section.edit, async (request, reply) => {
    const [state, pasted] = [text(request.body, 'playground_state'), text(request.body, 'pasted')];
    const progress = decryptProgress(request, state);
    if (progress?.appId !== request.params.id) return showExpired(reply, await loadPlayground(request));
    const redirect = async () =>
      reply.redirect(`${(await section.loadViewer(request)).path}/try?${readPasted(pasted, state)}`, 303);
    return tryForm(redirect, async (problem) => {
      const playground = await loadPlayground(request);
      return showTry(reply, playground, authorizeBody(playground, progress, state, { pasted, problem }), 400);
    });
  });
}

/** The redirect URI of the playground, shared by all apps of a business: the state names the app and the session. */
function mountReturn(host: FastifyInstance, pages: PlaygroundPages): void {
  const { section, issuer, servesResources, returnAddressOf, showTry, decryptProgress, encryptProgress, db } = pages;
  host.get<{ Querystring: Form }>(`${section.route}/try`, section.edit, async (request, reply) => {
    const progress = decryptProgress(request, text(request.query, 'state'));
    const callback = readCallback(request.query);
    if (!progress || !callback || (callback.iss !== '' && callback.iss !== issuer)) throw unknownCallback();
    const viewer = await section.loadViewer(request);
    const app = await findOwnApp(db, viewer, progress.appId);
    const playground = {
      section,
      viewer,
      app,
      path: `${viewer.path}/${app.id}`,
      issuer,
      servesResources,
      returnAddress: returnAddressOf(viewer),
    };
    const updated = { ...progress, code: callback.code };
    return showTry(
      reply,
      playground,
      callbackBody({ playground, progress: updated, encrypted: encryptProgress(request, updated) }, callback),
    );
  });
}

function unknownCallback(): PageError {
  const sentence =
    'This does not match a request that you sent from here in the last 30 minutes. Open the app and try again.';
  return new PageError(400, 'Unknown response', sentence);
}

function mountSteps(host: FastifyInstance, pages: PlaygroundPages, path: string): void {
  const { section, showTry, decryptProgress, encryptProgress, loadPlayground, showExpired } = pages;
  host.post<ForStep>(`${path}/:step`, section.edit, async (request, reply) => {
    const playground = await loadPlayground(request);
    const { step: name } = request.params;
    if (!isStep(name)) throw notFound();
    const encrypted = text(request.body, 'playground_state');
    const progress = decryptProgress(request, encrypted);
    if (progress?.appId !== playground.app.id || !STEPS[name].isPossible(progress))
      return showExpired(reply, playground);
    const run = async () => {
      const { updated, ...sent } = await runStep(playground.issuer, name, withSecret(name, progress, request.body));
      return showTry(
        reply,
        playground,
        stepBody({ playground, progress: updated, encrypted: encryptProgress(request, updated) }, sent),
      );
    };
    return tryForm(run, (problem) =>
      showTry(reply, playground, retryBody({ playground, progress, encrypted, problem }, name), 400),
    );
  });
}

/** The secret is entered once, for the exchange, and then kept in the state. */
function withSecret(name: StepName, progress: PlaygroundState, form: Form): PlaygroundState {
  if (name !== 'exchange') return progress;
  const secret = text(form, 'client_secret').trim();
  if (secret === '') throw new FormError('client_secret', 'Enter one of the app’s secrets.');
  if (!/^[\x21-\x7e]{1,200}$/.test(secret)) {
    throw new FormError('client_secret', 'A secret starts with gcs_ and has no spaces.');
  }
  return { ...progress, secret };
}

async function runStep(issuer: string, name: StepName, progress: PlaygroundState) {
  const { secret = '', tokens } = progress;
  const call = STEPS[name].call(issuer, progress);
  const secrets = { CLIENT_SECRET: secret, ACCESS_TOKEN: tokens?.access ?? '', REFRESH_TOKEN: tokens?.refresh ?? '' };
  const response = await sendCall(call, secrets);
  if (!response) return { name, call, response, updated: progress };
  const updated = STEPS[name].update(progress, response);
  const { done = [] } = progress;
  const isNew = response.status < 400 && !done.includes(name);
  return { name, call, response, updated: isNew ? { ...updated, done: [...done, name] } : updated };
}

type PlaygroundPages = ReturnType<typeof createPlaygroundPages>;

/** What all playground pages share: load the app, read and write the state, and restart if it has expired. */
function createPlaygroundPages(pages: AppPages) {
  const { keys, clock, issuer, servesResources, consentUrl, section, loadApp, show } = pages;
  const returnAddressOf = ({ path }: Viewer) => `${consentUrl}${path}/try`;

  function showTry(reply: FastifyReply, { viewer, app }: Playground, body: Html, status = 200): FastifyReply {
    return show(reply, viewer, { title: `Try it · ${app.name}`, body, status });
  }

  function showStart(reply: FastifyReply, playground: Playground, { choices, problem }: Start = {}): FastifyReply {
    const body = startBody(playground, choices ?? defaultChoices(playground), problem);
    return showTry(reply, playground, body, problem ? 400 : 200);
  }

  return {
    ...pages,
    returnAddressOf,
    showTry,
    showStart,

    async loadPlayground(request: AppRequest): Promise<Playground> {
      const loaded = await loadApp(request);
      return { section, ...loaded, issuer, servesResources, returnAddress: returnAddressOf(loaded.viewer) };
    },

    encryptProgress: (request: FastifyRequest, progress: PlaygroundState): string =>
      encryptState({ keys, session: requireSession(request) }, progress, clock()),

    decryptProgress: (request: FastifyRequest, encrypted: string): PlaygroundState | undefined =>
      decryptState({ keys, session: requireSession(request) }, encrypted, clock()),

    showExpired: (reply: FastifyReply, playground: Playground): FastifyReply =>
      showStart(reply, playground, {
        problem: {
          field: 'playground_state',
          message: 'Start again: this was started over 30 minutes ago, or in another session.',
        },
      }),
  };
}

interface Start {
  choices?: AuthorizeChoices;
  problem?: Problem;
}

function defaultChoices({ app, returnAddress }: Playground): AuthorizeChoices {
  const { redirectUris } = app;
  const redirectUri = redirectUris.includes(returnAddress) ? returnAddress : (redirectUris[0] ?? '');
  return { scopes: defaultScopes(app), redirectUri };
}

function defaultScopes({ allowedScopes }: App): Scopes {
  return allowedScopes.includes('read:invoices') ? ['read:invoices'] : allowedScopes;
}
