import { type Html, html } from '../lib/html.ts';

/** Beside an address that nobody has verified: it may be someone else's. */
export function unverifiedBadge({ emailVerifiedAt }: { emailVerifiedAt: number | null }): Html | false {
  return emailVerifiedAt === null && html`<span class="badge warn">Address not verified</span>`;
}
