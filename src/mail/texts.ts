import type { NoticeText } from './notice-texts.ts';

/** A mail in words. Text and HTML are made from it (render.ts). */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** The label of the link, for kinds that have one. */
  action?: string;
  /** After the link. */
  closing?: string[];
}

/** What every text can use. */
interface Common {
  platformName: string;
}

interface Request extends Common {
  /** Where the request came from: a browser and an IP address. */
  browser: string;
  address: string;
}

const ONCE = 'The link works once, for 30 minutes. A newer one replaces it.';

/** Every mail that is sent. This file holds all of their words, so that it can be translated as a whole. */
export const TEXTS = {
  password_reset: ({ platformName, browser, address }: Request): MailText => ({
    subject: `Set a new password for ${platformName}`,
    paragraphs: [
      `Someone asked for a link to set a new password for your account at ${platformName}, with ${browser} from ${address}.`,
      'If it was you, open this link:',
    ],
    action: 'Set a new password',
    closing: [ONCE, 'If it was not you, ignore this mail. Your password stays as it is.'],
  }),
  invitation: ({
    platformName,
    businessName,
    inviterName,
  }: Common & { businessName: string; inviterName: string }): MailText => ({
    subject: `Invitation to a business at ${platformName}`,
    paragraphs: [`${inviterName} invites you to join ${businessName} at ${platformName}. Open this link:`],
    action: 'See the invitation',
    closing: [
      'The link works once, for 30 minutes. After that, its page can send you a new one, for 7 days.',
      'If you do not know them, ignore this mail.',
    ],
  }),
  address_verification: ({ platformName }: Common): MailText => ({
    subject: `Confirm your address for ${platformName}`,
    paragraphs: [
      `You asked to confirm that this is the address of your account at ${platformName}. Open this link, in the browser in which you are signed in:`,
    ],
    action: 'Confirm address',
    closing: [
      ONCE,
      'If it was not you, ignore this mail. The link does nothing for anyone who is not signed in to that account.',
    ],
  }),
  address_change: ({ platformName }: Common): MailText => ({
    subject: `Confirm your new address for ${platformName}`,
    paragraphs: [
      `You asked to use this address for your account at ${platformName}. Open this link, in the browser in which you are signed in:`,
    ],
    action: 'Use this address',
    closing: [
      ONCE,
      'If it was not you, ignore this mail. The link does nothing for anyone who is not signed in to that account.',
    ],
  }),
  address_taken: ({ platformName }: Common): MailText => ({
    subject: `This address has an account at ${platformName}`,
    paragraphs: [
      `A user of ${platformName} asked to use this address for another account. It, or one that looks like it, has an account already, so nothing was changed.`,
      'If it was you, sign in with this address instead. If it was not you, ignore this mail.',
    ],
  }),
  address_change_requested: ({
    platformName,
    newAddress,
    browser,
    address,
  }: Request & { newAddress: string }): MailText => ({
    subject: `Your address at ${platformName} is about to change`,
    paragraphs: [
      `Someone who is signed in to your account at ${platformName} asked to change its address to ${newAddress}, with ${browser} from ${address}.`,
      'If it was you, there is nothing to do here. If it was not you, set a new password now: that stops the change.',
    ],
    action: 'Forgot or replace my password',
  }),
  address_changed: ({ platformName, newAddress }: Common & { newAddress: string }): MailText => ({
    subject: `Your address at ${platformName} has changed`,
    paragraphs: [
      `Your account at ${platformName} now has the address ${newAddress}. You sign in with that one.`,
      `If it was not you, contact a platform admin of ${platformName} at once.`,
    ],
  }),
  notice: ({ platformName, title, sentence, advice }: Common & NoticeText): MailText => ({
    subject: `${title} (${platformName})`,
    paragraphs: [sentence, advice],
    action: 'Open your account page',
  }),
} satisfies Record<string, (values: never) => MailText>;

export type MailKind = keyof typeof TEXTS;

/** The values of the text of each kind, without those that every text gets. */
export type MailValues<Kind extends MailKind> = Omit<Parameters<(typeof TEXTS)[Kind]>[0], keyof Common>;

export function textOf<Kind extends MailKind>(kind: Kind, values: MailValues<Kind> & Common): MailText {
  return (TEXTS[kind] as (values: MailValues<Kind> & Common) => MailText)(values);
}
