import type { FastifyReply, FastifyRequest } from 'fastify';
import { findPasskey } from '../../accounts/passkeys.ts';
import { type FactorAssertion, findSecondFactors, type SecondFactors } from '../../accounts/second-factors.ts';
import { claimedCredential, verifyAuthentication } from '../../accounts/webauthn.ts';
import { type Html, html } from '../../lib/html.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { codeForms, submittedCode } from '../code-forms.ts';
import { passkeyForm } from '../components/product.ts';
import { question } from '../components/structure.ts';
import { siteOf, type WebDeps } from '../deps.ts';
import { type Form, type Problem, postForm, text, tryRateLimitedForm } from '../forms.ts';
import { countCodeAttempt } from '../known-browsers.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { requireSession } from '../session.ts';

const ACCOUNT = '/settings/account';

type FormRequest = FastifyRequest<{ Body: Form }>;

/** Where the script fetches a challenge for a passkey that confirms a change. */
export const STEP_UP_OPTIONS = '/settings/two-step/passkey-options';

/** A change for which a recent sign-in is not enough. */
export interface StepUpAction {
  title: string;
  explanation: Html;
  /** The address of the form. */
  action: string;
  button: string;
  style?: 'primary' | 'danger';
}

/** Runs `work` with the assertion that was submitted, or shows the form again. */
export async function withStepUp(
  deps: WebDeps,
  request: FormRequest,
  reply: FastifyReply,
  { shown, work }: { shown: StepUpAction; work: (assertion: FactorAssertion | undefined) => Promise<FastifyReply> },
): Promise<FastifyReply> {
  const { field, method } = submittedCode(request.body);
  const { user } = requireSession(request);
  const attempt = async () => {
    const counted = await countCodeAttempt(deps, request, { user, method });
    const done = await work(await readAssertion(deps, request));
    await counted.refund();
    return done;
  };
  const showAgain = ({ message }: Problem, status: number) =>
    showStepUpForm(deps, request, reply, { ...shown, problem: { field, message }, status });
  return tryRateLimitedForm(reply, attempt, showAgain);
}

async function readAssertion(deps: WebDeps, request: FormRequest): Promise<FactorAssertion | undefined> {
  const response = text(request.body, 'credential');
  if (!response) return { code: submittedCode(request.body).code };
  const passkey = await findPasskey(deps.storage.durable, claimedCredential(response) ?? '');
  const boundTo = hashSecret(requireSession(request).id);
  const submitted = passkey && { text: response, boundTo, passkey, purpose: 'passkey to confirm' as const };
  const verified = submitted && (await verifyAuthentication(siteOf(deps), submitted, deps.clock()));
  return verified && { passkey, verified };
}

export async function showStepUpForm(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { problem, status = 200, ...shown }: StepUpAction & { problem?: Problem; status?: number },
): Promise<FastifyReply> {
  const context = await loadPageContext(deps, request);
  const factors = await findSecondFactors(deps.storage.durable, context.user.id);
  const body = stepUpBody(context, factors, { ...shown, problem });
  const page = { title: shown.title, platformName: deps.platformName, width: 'wide' as const, context, body };
  return sendPage(reply, page, { status });
}

function stepUpBody(
  { csrf }: PageContext,
  factors: SecondFactors,
  { title, explanation, action, button, style, problem }: StepUpAction & { problem: Problem | undefined },
): Html {
  const byPasskey = postForm({
    action,
    csrf,
    body: html`<button class="secondary wide">Confirm with a passkey</button>`,
  });
  const hasApp = factors.appAddedAt !== null;
  const body = html`${explanation}
${hasApp && codeForms({ action, csrf, factors, button, ...(style && { style }), cancel: ACCOUNT, problem })}
${factors.passkeys.length > 0 && passkeyForm({ method: 'get', form: byPasskey, options: STEP_UP_OPTIONS, problem: hasApp ? undefined : problem && { ...problem, field: 'passkey' } })}`;
  return question({ title, back: { to: ACCOUNT, name: 'Account' }, body });
}
