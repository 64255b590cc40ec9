import type { Html } from '../lib/html.ts';

/** A name, or markup around one. */
export type Inline = Html | string;

export type Direction = 'ltr' | 'rtl';

/** The content of a mail, from which mail/render.ts renders text and HTML. */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** The label of the link, for kinds that have one. */
  action?: string;
  /** After the link. */
  closing?: string[];
}

/** A notice to a user about their account or their apps. */
export interface NoticeText {
  title: string;
  sentence: string;
  /** What to do if it is unexpected. */
  advice: string;
  /** The label of the link to the page where the reader can do it. */
  action: string;
}

/** The body of an error page. */
export interface ErrorText {
  title: string;
  sentence: string;
}

/** By name; an empty name is one that was not recognised. */
export interface Browser {
  browser: string;
  system: string;
}

/** What every mail can use. */
export interface CommonValues {
  platformName: string;
}

/** Where a request came from. */
export interface FromDevice {
  device: Browser;
  /** An IP address. */
  address: string;
}

/** The ids are part of the address of the notice's page. */
export interface InBusiness {
  app: string;
  business: string;
  businessId: string;
}

/** `businessId` is the owner of the app; empty for an app of the platform. */
export interface OfApp {
  app: string;
  appId: string;
  businessId: string;
}

/** `userId` is of the person who is responsible for the connection now. */
export interface OfConnection extends InBusiness {
  appId: string;
  userId: string;
}

export type EndpointEnd = 'by_owner' | 'failing' | 'gone';

/** `passkey` is the name of a passkey; empty for an authenticator app. */
export interface AddedFactor {
  passkey: string;
}

export interface RemovedFactor {
  factor: 'app' | 'passkey' | 'all_passkeys';
  passkey: string;
  by: 'user' | 'operator';
}

export interface PasswordChange {
  /** On the account page, by an operator, or with a link, by who created it. */
  how: 'account_page' | 'by_operator' | 'user' | 'platform' | 'operator' | 'mail';
  two_step: 'removed' | 'kept';
}
