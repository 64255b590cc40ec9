import { ROLES, type Role } from '../../accounts/memberships.ts';
import type { App } from '../../apps/apps.ts';
import { type Counted, formatCount } from '../../grants/counts.ts';
import type { Impact } from '../../grants/impact.ts';
import { en, type Texts } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { passkeyScriptPath } from '../assets.ts';
import { ariaAttributes, type Problem, postForm, problemText } from '../forms.ts';

export function appBadges(app: App): Html {
  return html`${app.ownerScope === 'platform' && html`<span class="badge">First-party</span>`}
${app.pausedAt !== null && html`<span class="badge warn">Paused</span>`}
${app.disabledAt !== null && html`<span class="badge warn">Disabled</span>`}`;
}

/** Who owns an app. An external app is not registered here, so only its host is known. */
export function ownerNameOf(
  { ownerScope, externalClientId }: Pick<App, 'ownerScope' | 'externalClientId'>,
  ownerName: string | null | undefined,
  platformName: string,
  { consent } = en,
): string {
  if (ownerScope === 'external') return URL.parse(externalClientId ?? '')?.host || consent.unknownPublisher;
  return ownerName ?? platformName;
}

/** Until an address is verified, it may belong to someone else. */
export function unverifiedBadge({ emailVerifiedAt }: { emailVerifiedAt: number | null }): Html | false {
  return emailVerifiedAt === null && html`<span class="badge warn">Address not verified</span>`;
}

export function pluralize(count: number, singular: string, plural: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** For a count of which reading may have stopped before its end. */
export function pluralizeCount(count: number, counted: Counted, singular: string, plural: string): string {
  return `${formatCount(count, counted)} ${count === 1 ? singular : plural}`;
}

export function impactText(impact: Impact): string {
  const { businesses, users, isPart } = impact;
  if (users === 0 && !isPart) return 'nobody';
  return `${pluralizeCount(businesses, impact, 'business', 'businesses')}, ${pluralizeCount(users, impact, 'user', 'users')}`;
}

const ROLE_NAMES: Record<Role, string> = {
  owner: en.roles.owner.name,
  admin: en.roles.admin.name,
  member: en.roles.member.name,
};

export const AS_ROLE: Record<Role, string> = { owner: 'an owner', admin: 'an admin', member: 'a member' };

export function roleBadge(role: Role): Html {
  return html`<span class="badge">${ROLE_NAMES[role]}</span>`;
}

export function roleField(chosen: string, problem?: Problem): Html {
  const wrong = problem?.field === 'role';
  return html`<fieldset class="field" ${ariaAttributes('role', { wrong })}>
<legend>Role</legend>
${wrong && problemText(problem)}
${[...ROLES]
  .reverse()
  .map(
    (role) =>
      html`<label class="choice"><input type="radio" name="role" value="${role}" required ${role === chosen && html`checked`}><span><strong>${ROLE_NAMES[role]}</strong><br><span class="muted small">${en.roles[role].meaning}</span></span></label>`,
  )}
</fieldset>`;
}

/** Text in which `code` is marked with backticks. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

interface PasskeyForm {
  /** The method of `navigator.credentials` that the script calls. */
  method: 'create' | 'get';
  /** The script fetches options from the action of the form with `/options` added, then submits it with the credential. */
  form: Html;
  /** Where the script fetches the options instead. */
  options?: string;
  problem?: Problem | undefined;
  texts?: Texts;
}

/** Hidden until the script finds that the browser supports passkeys. */
export function passkeyForm({ method, form, options, problem, texts = en }: PasskeyForm): Html {
  const { notUsed, alreadyHere, notAtThisAddress, failed } = texts.passkeys;
  const messages = html`data-not-used="${notUsed}" data-already-here="${alreadyHere}" data-not-at-this-address="${notAtThisAddress}" data-failed="${failed}"`;
  return html`<div class="passkey" data-passkey="${method}" ${options && html`data-options="${options}"`} ${messages} hidden>
${form}
<p class="problem" role="alert"></p>
</div>
${problem?.field === 'passkey' && problemText(problem)}
<script type="module" src="${passkeyScriptPath}"></script>`;
}

interface PasskeySignIn {
  texts: Texts;
  csrf: string;
  returnTo: string;
  problem: Problem | undefined;
}

export function passkeySignInForm({ texts, csrf, returnTo, problem }: PasskeySignIn): Html {
  const form = postForm({
    action: '/sign-in/passkey',
    csrf,
    body: html`<input type="hidden" name="return_to" value="${returnTo}">
<button class="secondary wide">${texts.passkeys.useInstead}</button>`,
  });
  return passkeyForm({ method: 'get', form, problem, texts });
}
