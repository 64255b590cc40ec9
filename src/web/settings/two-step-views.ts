import { encode } from 'uqr';
import { authenticatorUri } from '../../accounts/authenticator-apps.ts';
import type { SecondFactors } from '../../accounts/second-factors.ts';
import type { Session } from '../../accounts/sessions.ts';
import { type Html, html } from '../../lib/html.ts';
import { codeField } from '../code-forms.ts';
import { badge, notice } from '../components/display.ts';
import { passkeyForm, pluralize } from '../components/product.ts';
import { dangerZone, pageHead, question, settings } from '../components/structure.ts';
import { copyable, type Problem, postForm, time } from '../forms.ts';

const PATH = '/settings/two-step';
const ACCOUNT = { to: '/settings/account', name: 'Account' };

interface SetUpPage {
  platformName: string;
  session: Session;
  csrf: string;
  returnTo: string;
  /** Whether the last sign-in was recent enough to add a factor. */
  isRecent: boolean;
  secret: string;
  /** The signed set-up. */
  setUp: string;
  problem: Problem | undefined;
}

export function setUpBody(page: SetUpPage): Html {
  const { session, csrf, returnTo, isRecent } = page;
  const isForced = session.lacksSecondFactor;
  const again = `/sign-in?${new URLSearchParams({ return_to: isForced ? returnTo : PATH })}`;
  const body = html`${isForced ? html`<p class="notice">Your business or the platform requires two-step sign-in. Set it up to continue.</p>` : html`<p>After your password you enter a code from an app on your phone. A stolen password is then not enough to sign in.</p>`}
${isRecent ? appSetUp(page) : html`<p>To set it up, <a href="${again}">sign in again</a> first: your last sign-in was more than 15 minutes ago.</p>`}`;
  return html`${question({ title: 'Set up two-step sign-in', back: !isForced && ACCOUNT, body })}
${isForced && isRecent && passkeySetUp(page)}
${isForced && postForm({ action: '/sign-out', csrf, body: html`<button class="quiet">Sign out</button>` })}`;
}

function appSetUp({ platformName, session, csrf, returnTo, secret, setUp, problem }: SetUpPage): Html {
  const uri = authenticatorUri(secret, { issuer: platformName, account: session.user.email });
  return html`<ol class="steps">
<li>Install an authenticator app on your phone, if you have none. Any app for one-time codes works.</li>
<li>Scan this code with it.
${qrCode(uri)}
<p class="small">Cannot scan it? <a href="${uri}">Open the app on this device</a>, or type this key: ${copyable('key', secret)}</p></li>
<li><p>Enter the code that the app shows.</p>
${postForm({
  action: PATH,
  csrf,
  body: html`<input type="hidden" name="set_up" value="${setUp}">
<input type="hidden" name="return_to" value="${returnTo}">
${codeField(problem, { focus: problem !== undefined })}
<p class="muted small">Every other browser will be signed out.</p>
<button class="primary wide">Turn on two-step sign-in</button>`,
})}</li>
</ol>`;
}

function passkeySetUp({ csrf, returnTo, problem }: SetUpPage): Html {
  const form = postForm({
    action: '/settings/account/passkeys',
    csrf,
    body: html`<input type="hidden" name="return_to" value="${returnTo}">
<input type="hidden" name="passkey_name" value="Passkey">
<button class="secondary wide">Add a passkey instead</button>`,
  });
  return html`<div class="card question"><h2>Or use a passkey</h2>
<p class="muted">It signs you in with your device’s screen lock (fingerprint, face or PIN) in one step.</p>
${passkeyForm({ method: 'create', form, problem })}
<p class="hint" data-without-passkeys>Adding a passkey needs JavaScript and a browser that supports passkeys.</p></div>`;
}

/** Drawn with attributes, since the content security policy allows no inline style. */
function qrCode(content: string): Html {
  const { size, data } = encode(content, { ecc: 'M', border: 4 });
  const dots = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('');
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" width="${4 * size}" height="${4 * size}" role="img" aria-label="QR code for the authenticator app" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${dots}" fill="#000"/></svg>`;
}

export function recoveryCodesBody(codes: string[], returnTo: string): Html {
  const body = html`<p class="notice caution"><strong>Copy them now.</strong> They are not shown again.</p>
<p>If you lose your phone, one of these codes signs you in together with your password. Each works once.</p>
<ul class="codes" id="recovery-codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p><button type="button" class="secondary" data-copy="recovery-codes" hidden>Copy</button></p>
<p>Print them, or save them in your password manager.</p>
<p><a class="button primary wide" href="${returnTo}">I have saved them</a></p>`;
  return question({ title: 'Save your recovery codes', body });
}

export function manageBody(factors: SecondFactors): Html {
  return html`${pageHead({
    title: 'Two-step sign-in',
    badges: badge('On', 'good'),
    intro: 'After your password you enter a code from your authenticator app.',
    back: ACCOUNT,
  })}
${settings({
  title: 'Recovery codes',
  intro: 'If you lose your phone, one of them signs you in together with your password.',
  body: html`${codesLeft(factors)}
<p><a class="button" href="${PATH}/recovery-codes">New recovery codes…</a></p>`,
})}
${dangerZone([
  {
    title: 'Remove the authenticator app',
    text: html`On since ${time(factors.appAddedAt ?? 0)}. Without it, a stolen password is enough to sign in as you.`,
    action: html`<a class="button danger" href="${PATH}/remove">Remove…</a>`,
  },
])}`;
}

function codesLeft({ recoveryCodes, passkeys }: SecondFactors): Html {
  if (recoveryCodes > 0) {
    return html`<p>You have ${pluralize(recoveryCodes, 'recovery code', 'recovery codes')} left.${recoveryCodes < 3 && ' Create new ones soon.'}</p>`;
  }
  const loss =
    passkeys.length > 0
      ? 'you can sign in with a passkey only'
      : 'you will be locked out until an owner or a platform admin helps you';
  return notice(html`<strong>You have no recovery codes.</strong> If you lose your phone, ${loss}.`, 'caution');
}

/** On the account page. */
export function twoStepSection({ appAddedAt, recoveryCodes, isRequired }: SecondFactors): Html {
  const text = html`On since ${time(appAddedAt ?? 0)}. ${recoveryCodes === 0 ? html`<strong>You have no recovery codes.</strong>` : html`${pluralize(recoveryCodes, 'recovery code', 'recovery codes')} left.`}`;
  return settings({
    title: 'Two-step sign-in',
    id: 'two-step',
    intro: html`After your password you enter a code from an authenticator app on your phone.${isRequired && ' Your business or the platform requires this or a passkey.'}`,
    body:
      appAddedAt === null
        ? html`<p>${badge('Off', 'caution')} A stolen password is enough to sign in as you.</p>
<p><a class="button" href="${PATH}">Set up two-step sign-in</a></p>`
        : html`<p>${badge('On', 'good')} ${text}</p>
<p><a class="button" href="${PATH}">Manage</a></p>`,
  });
}
