import type { Membership } from '../accounts/memberships.ts';
import type { App, AppIdentity } from '../apps/apps.ts';
import { en } from '../languages/en.ts';
import { looksLikeAny } from '../lib/confusables.ts';
import { type Html, html } from '../lib/html.ts';

/** An app that a business has registered. */
export interface PublishedApp extends Pick<App, 'ownerBusinessId' | 'verifiedAt'> {
  identity: Pick<AppIdentity, 'publisherName'>;
}

/** The name that the platform has verified. Undefined if it has verified none. */
export function verifiedPublisher({ identity, verifiedAt }: PublishedApp, ownerName: string): string | undefined {
  return verifiedAt === null ? undefined : (identity.publisherName ?? ownerName);
}

interface Reader {
  memberships: Pick<Membership, 'businessId' | 'businessName'>[];
  platformName: string;
}

/** Anyone can give a business any name, so it does not say who the publisher is: not the platform, and not a business of the reader. */
export function unverifiedPublisher(
  { ownerBusinessId }: PublishedApp,
  ownerName: string,
  { memberships, platformName }: Reader,
  { consent } = en,
): Html {
  const isOwn = memberships.some(({ businessId }) => businessId === ownerBusinessId);
  const known = [platformName, ...memberships.map(({ businessName }) => businessName)];
  return !isOwn && looksLikeAny(ownerName, known)
    ? consent.byAnotherBusiness(ownerName)
    : consent.byBusiness(ownerName);
}

/** Below the name of an app, on pages in English. */
export function publisherLine(app: PublishedApp, ownerName: string, reader: Reader): Html {
  const publisher = verifiedPublisher(app, ownerName);
  return publisher
    ? html`By ${publisher}`
    : html`${en.consent.notVerified}. ${unverifiedPublisher(app, ownerName, reader)}`;
}
