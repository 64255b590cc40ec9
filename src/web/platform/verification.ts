import type { OwnedApp } from '../../apps/app-search.ts';
import { checkedFingerprint } from '../../apps/verification.ts';
import { type Html, html } from '../../lib/html.ts';
import { appAvatar, outboundLink } from '../app-identity-views.ts';
import { settings } from '../components/structure.ts';
import { type Problem, postForm, time } from '../forms.ts';

interface VerificationView {
  csrf: string;
  problem: Problem | undefined;
}

/** What a platform admin checks before they vouch for the publisher of an app. */
export function verificationSection(app: OwnedApp, { csrf, problem }: VerificationView): Html | null {
  if (app.ownerScope !== 'business') return null;
  const { publisherName, ...addresses } = app.identity;
  const rows: [string, string | null][] = [
    ['Homepage', addresses.homepageUrl],
    ['Support', addresses.supportUrl],
    ['Privacy policy', addresses.privacyUrl],
    ['Terms of service', addresses.termsUrl],
  ];
  const body = html`<p>${appAvatar(app, 'lg')}</p>
<dl class="facts">
<div><dt>Publisher</dt><dd>${publisherName ?? 'The business that owns it'}</dd></div>
${rows.map(([name, url]) => html`<div><dt>${name}</dt><dd>${url === null ? 'Not given' : outboundLink(url, url)}</dd></div>`)}
</dl>
${problem?.field === 'app' && html`<p class="problem" role="alert">${problem.message}</p>`}
${app.verifiedAt === null ? verifyForm(app, csrf) : removalForm(app, app.verifiedAt, csrf)}`;
  return settings({
    title: 'Publisher',
    intro:
      'Verify the publisher if you have checked that the name, the logo, the publisher and the homepage belong together. Users then see the Verified publisher badge on the consent screen. It is removed when the owner changes one of them, or renames the business.',
    body,
  });
}

/** With the fingerprint of what is shown: if the owner changes the app meanwhile, nothing is verified. */
function verifyForm(app: OwnedApp, csrf: string): Html {
  return postForm({
    action: `/platform/apps/${app.id}/verify`,
    csrf,
    body: html`<input type="hidden" name="seen" value="${checkedFingerprint(app, app.ownerName)}"><button class="primary">Verify publisher</button>`,
  });
}

function removalForm(app: OwnedApp, verifiedAt: number, csrf: string): Html {
  return html`<p>Verified ${time(verifiedAt)}.</p>
${postForm({ action: `/platform/apps/${app.id}/unverify`, csrf, body: html`<button class="danger">Remove badge</button>` })}`;
}
