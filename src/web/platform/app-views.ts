import type { OwnedApp } from '../../apps/app-search.ts';
import type { Impact } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { appBadges, impactText, pluralize } from '../components.ts';
import { copyable, type Problem, postForm, time } from '../forms.ts';
import { reasonField, reasonText } from './page.ts';

interface Around {
  platformName: string;
  reach: Impact;
  csrf: string;
}

export function appRow(
  app: OwnedApp,
  { platformName, connections }: { platformName: string; connections: number },
): Html {
  return html`<li><div><a href="/platform/apps/${app.id}">${app.name}</a> ${appBadges(app)}
<p class="muted small">${app.ownerName ?? platformName} · ${pluralize(connections, 'connection', 'connections')} · <code>${app.id}</code></p></div></li>
`;
}

export function appBody(app: OwnedApp, around: Around & { reason: string | undefined }): Html {
  return html`<h1>${app.name} ${appBadges(app)}</h1>
<section class="card"><h2>The app</h2>
<dl class="facts">
<div><dt>Owner</dt><dd>${owner(app, around.platformName)}</dd></div>
<div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
<div><dt>Registered</dt><dd>${time(app.createdAt)}</dd></div>
<div><dt>Who can connect it</dt><dd>${app.ownerScope === 'platform' || app.openToAnyBusiness ? 'Users of any business' : 'Users of its owner only'}</dd></div>
<div><dt>May ask for</dt><dd>${listScopes(app.allowedScopes).map(({ name }) => html`<code>${name}</code><br>`)}</dd></div>
<div><dt>Sends users to</dt><dd>${app.redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd></div>
<div><dt>Connected by</dt><dd>${impactText(around.reach)}</dd></div>
</dl>
${app.ownerScope === 'platform' && html`<p><a class="button secondary" href="/platform/developer/apps/${app.id}">Settings of the app</a></p>`}
</section>
${pauseSection(app, around)}`;
}

function owner({ ownerBusinessId, ownerName }: OwnedApp, platformName: string): Html {
  if (ownerBusinessId === null) return html`${platformName}`;
  return html`<a href="/platform/businesses/${ownerBusinessId}">${ownerName}</a>`;
}

function pauseSection(app: OwnedApp, { reason, csrf }: { reason: string | undefined; csrf: string }): Html {
  const path = `/platform/apps/${app.id}`;
  if (app.pausedAt === null) {
    return html`<section class="card"><h2>Pause everywhere</h2>
<p>Pausing stops every token of the app, in every business, at once. Its owner cannot undo it; a platform admin can.</p>
<p><a class="button danger" href="${path}/pause">Pause…</a></p></section>`;
  }
  return html`<section class="card"><h2>Paused everywhere</h2>
<p>Paused since ${time(app.pausedAt)}: none of its tokens work, and nobody can connect it. Once it is resumed, the same tokens work again.</p>
${reasonText(reason)}
${app.disabledAt !== null && html`<p>Its owner has disabled it too. Resuming leaves that as it is.</p>`}
${postForm({ action: `${path}/resume`, csrf, body: html`<button class="primary">Resume</button>` })}</section>`;
}

/** Asked before it is done, with what it would stop at this moment. */
export function pauseBody(app: OwnedApp, { platformName, reach, csrf, typed, problem }: PauseQuestion): Html {
  const path = `/platform/apps/${app.id}`;
  const hint = 'Shown on the page of the app, and in the audit log of its owners.';
  return html`<div class="card"><h1>Pause ${app.name} everywhere?</h1>
<p>This app of ${app.ownerName ?? platformName} is connected by <strong>${impactText(reach)}</strong> right now.</p>
${app.disabledAt !== null && html`<p class="notice">Its owner has disabled it already: none of its tokens work now.</p>`}
<p>Every call of the app is refused from the next one on, it hears of it by webhook, and nobody can connect it. Nothing is lost:
once a platform admin resumes it, the same tokens work again.</p>
${postForm({
  action: `${path}/pause`,
  csrf,
  body: html`${reasonField({ hint, value: typed, problem })}
<div class="answers"><a class="button secondary" href="${path}">Keep it running</a><button class="danger">Pause app</button></div>`,
})}</div>`;
}

interface PauseQuestion extends Around {
  /** As a reason, sound or not. */
  typed: string;
  problem?: Problem;
}
