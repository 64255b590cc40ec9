import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findTimeStep, newAuthenticatorSecret } from '../../accounts/authenticator-apps.ts';
import {
  addAuthenticatorApp,
  type FactorAssertion,
  findSecondFactors,
  removeAuthenticatorApp,
  renewRecoveryCodes,
  type SecondFactors,
  wrongCode,
} from '../../accounts/second-factors.ts';
import type { Session } from '../../accounts/sessions.ts';
import { authenticationOptions } from '../../accounts/webauthn.ts';
import { HOUR } from '../../lib/clock.ts';
import { FormError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import { decodeSigned, encodeSigned } from '../../lib/keyring.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { access, accessBeforeSecondFactor } from '../access.ts';
import { siteOf, type WebDeps } from '../deps.ts';
import { notFound, SignInRequired, sessionExpired } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, text, tryForm } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { readReturnTo } from '../return-to.ts';
import { actorOf, hasSignedInRecently, isSafeMethod, requireSession } from '../session.ts';
import { STEP_UP_OPTIONS, type StepUpAction, showStepUpForm, withStepUp } from './step-up.ts';
import { manageBody, recoveryCodesBody, setUpBody } from './two-step-views.ts';

const PATH = '/settings/two-step';
const ACCOUNT = '/settings/account';

type FormRequest = FastifyRequest<{ Body: Form }>;

export function mountTwoStep(host: FastifyInstance, deps: WebDeps): void {
  for (const mount of [mountSetUp, mountRenewal, mountRemoval]) mount(host, deps);

  host.post(STEP_UP_OPTIONS, access('signed_in'), async (request, reply) => {
    const boundTo = hashSecret(requireSession(request).id);
    const options = await authenticationOptions(siteOf(deps), { boundTo, purpose: 'passkey to confirm' }, deps.clock());
    return reply.header('cache-control', 'no-store').send(options);
  });
}

function mountSetUp(host: FastifyInstance, deps: WebDeps): void {
  host.get(PATH, accessBeforeSecondFactor(), (request, reply) => showTwoStep(deps, request, reply));

  host.post<{ Body: Form }>(PATH, accessBeforeSecondFactor(), async (request, reply) => {
    const setUp = readSetUp(deps, request);
    const confirm = async () => showRecoveryCodes(deps, request, reply, await confirmSetUp(deps, request, setUp));
    return tryForm(confirm, (problem) => showTwoStep(deps, request, reply, { problem, secret: setUp.secret }));
  });
}

/** The browser keeps the new secret, signed, until a code confirms it: nothing is stored before. */
interface SetUp {
  secret: string;
  /** The hash of the session that it was created for. */
  boundTo: string;
  until: number;
}

const SET_UP = 'set-up of an authenticator app';
const SET_UP_LIFETIME = HOUR;

function readSetUp({ keys, clock }: WebDeps, request: FormRequest): SetUp {
  const { id } = requireSession(request);
  const setUp = decodeSigned<SetUp>(keys, SET_UP, text(request.body, 'set_up'));
  if (!setUp || setUp.boundTo !== hashSecret(id) || setUp.until <= clock()) throw notFound();
  return setUp;
}

async function confirmSetUp(deps: WebDeps, request: FormRequest, { secret }: SetUp): Promise<string[]> {
  const { storage, keys, clock } = deps;
  const session = requireSession(request);
  if (!hasSignedInRecently(session, clock())) {
    throw new FormError('code', 'Your last sign-in was too long ago. Reload the page, and sign in again.');
  }
  const step = findTimeStep(secret, text(request.body, 'code'), clock());
  if (step === undefined) throw wrongCode();
  const factor = { session, secret, step };
  const codes = await addAuthenticatorApp(actorOf(request), { db: storage.durable, keys }, factor, clock());
  if (!codes) throw sessionExpired(PATH);
  return codes;
}

interface Shown {
  problem?: Problem;
  /** The secret of a set-up that failed: the user has scanned it already. */
  secret?: string;
}

/** The page to set it up or, if it is set up, to manage it. */
export async function showTwoStep(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  shown: Shown = {},
): Promise<FastifyReply> {
  const session = requireSession(request);
  const factors = await findSecondFactors(deps.storage.durable, session.user.id);
  const returnTo = readTarget(deps, request);
  if (session.lacksSecondFactor && hasFactor(factors)) throw new SignInRequired(returnTo, 'second_step_required');
  if (factors.appAddedAt !== null) return sendTwoStepPage(deps, request, reply, { body: manageBody(factors) });
  const secret = shown.secret ?? newAuthenticatorSecret();
  const setUp: SetUp = { secret, boundTo: hashSecret(session.id), until: deps.clock() + SET_UP_LIFETIME };
  const body = setUpBody({
    platformName: deps.platformName,
    session,
    csrf: request.csrfToken,
    returnTo,
    isRecent: hasSignedInRecently(session, deps.clock()),
    secret,
    setUp: encodeSigned(deps.keys, SET_UP, setUp),
    problem: shown.problem,
  });
  return sendTwoStepPage(deps, request, reply, { body, status: shown.problem ? 400 : 200 });
}

function hasFactor({ appAddedAt, passkeys }: SecondFactors): boolean {
  return appAddedAt !== null || passkeys.length > 0;
}

/** Where to go after the set-up. */
function readTarget({ consentUrl }: WebDeps, request: FastifyRequest): string {
  const form = (isSafeMethod(request) ? request.query : request.body) as Form;
  return 'return_to' in form ? readReturnTo(form.return_to, consentUrl) : ACCOUNT;
}

/** Has no menu while the user has to set it up: until then, they see nothing of a business. */
async function sendTwoStepPage(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { body, status = 200 }: { body: ReturnType<typeof html>; status?: number },
): Promise<FastifyReply> {
  const page = { title: 'Two-step sign-in', platformName: deps.platformName, body };
  if (requireSession(request).lacksSecondFactor) {
    return sendPage(reply, { ...page, width: 'narrow', runsScript: true }, { status });
  }
  return sendPage(reply, { ...page, width: 'wide', context: await loadPageContext(deps, request) }, { status });
}

async function showRecoveryCodes(
  deps: WebDeps,
  request: FormRequest,
  reply: FastifyReply,
  codes: string[],
): Promise<FastifyReply> {
  return sendTwoStepPage(deps, request, reply, { body: recoveryCodesBody(codes, readTarget(deps, request)) });
}

const RENEWAL: StepUpAction = {
  title: 'New recovery codes',
  explanation: html`<p>The codes that you have now stop working.</p>`,
  action: `${PATH}/recovery-codes`,
  button: 'Create new recovery codes',
};

function mountRenewal(host: FastifyInstance, deps: WebDeps): void {
  host.get(RENEWAL.action, access('signed_in'), async (request, reply) => {
    await requireApp(deps, requireSession(request));
    return showStepUpForm(deps, request, reply, RENEWAL);
  });

  host.post<{ Body: Form }>(RENEWAL.action, access('signed_in'), async (request, reply) => {
    const { user } = await requireApp(deps, requireSession(request));
    const work = async (assertion: FactorAssertion | undefined) => {
      const change = { user, assertion };
      const codes = await renewRecoveryCodes(actorOf(request), factorDeps(deps), change, deps.clock());
      if (!codes) throw notFound();
      return showRecoveryCodes(deps, request, reply, codes);
    };
    return withStepUp(deps, request, reply, { shown: RENEWAL, work });
  });
}

const REMOVAL: StepUpAction = {
  title: 'Remove the authenticator app',
  explanation: html`<p>You then sign in with your password or a passkey only. Your recovery codes stop working.</p>`,
  action: `${PATH}/remove`,
  button: 'Remove',
  style: 'danger',
};

function mountRemoval(host: FastifyInstance, deps: WebDeps): void {
  host.get(REMOVAL.action, access('signed_in'), async (request, reply) => {
    await requireApp(deps, requireSession(request));
    return showStepUpForm(deps, request, reply, REMOVAL);
  });

  host.post<{ Body: Form }>(REMOVAL.action, access('signed_in'), async (request, reply) => {
    const { user } = await requireApp(deps, requireSession(request));
    const work = async (assertion: FactorAssertion | undefined) => {
      const change = { user, assertion };
      if (!(await removeAuthenticatorApp(actorOf(request), factorDeps(deps), change, deps.clock()))) throw notFound();
      return redirectWithFlash(reply, ACCOUNT, 'second_factor_removed');
    };
    return withStepUp(deps, request, reply, { shown: REMOVAL, work });
  });
}

async function requireApp({ storage }: WebDeps, session: Session): Promise<Session> {
  const { appAddedAt } = await findSecondFactors(storage.durable, session.user.id);
  if (appAddedAt === null) throw notFound();
  return session;
}

export function factorDeps({ storage, keys }: WebDeps) {
  return { db: storage.durable, keys };
}
