import type { App } from '../apps/apps.ts';
import { type Html, html } from '../lib/html.ts';

/** Whose it is, and what has stopped it. */
export function appBadges(app: App): Html {
  return html`${app.ownerScope === 'platform' && html`<span class="badge">First-party</span>`}
${app.pausedAt !== null && html`<span class="badge warn">Paused</span>`}
${app.disabledAt !== null && html`<span class="badge warn">Disabled</span>`}`;
}
