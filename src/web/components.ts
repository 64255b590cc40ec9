import type { App } from '../apps/apps.ts';
import type { Impact } from '../grants/impact.ts';
import { type Html, html } from '../lib/html.ts';

/** Whose it is, and what has stopped it. */
export function appBadges(app: App): Html {
  return html`${app.ownerScope === 'platform' && html`<span class="badge">First-party</span>`}
${app.pausedAt !== null && html`<span class="badge warn">Paused</span>`}
${app.disabledAt !== null && html`<span class="badge warn">Disabled</span>`}`;
}

/** Beside an address that nobody has verified: it may be someone else's. */
export function unverifiedBadge({ emailVerifiedAt }: { emailVerifiedAt: number | null }): Html | false {
  return emailVerifiedAt === null && html`<span class="badge warn">Address not verified</span>`;
}

/** One kind of thing, and how many of it. */
export function pluralize(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Who has connected an app. */
export function impactText({ businesses, users }: Impact): string {
  if (users === 0) return 'nobody';
  return `${pluralize(businesses, 'business', 'businesses')}, ${pluralize(users, 'user', 'users')}`;
}
