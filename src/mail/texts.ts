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

/** Every mail that is sent. This file holds all of their words, so that it can be translated as a whole. */
export const TEXTS = {
  password_reset: ({ platformName, browser, address }: Request): MailText => ({
    subject: `Set a new password for ${platformName}`,
    paragraphs: [
      `Someone asked for a link to set a new password for your account at ${platformName}, with ${browser} from ${address}.`,
      'If it was you, open this link:',
    ],
    action: 'Set a new password',
    closing: [
      'The link works once, for 30 minutes. A newer one replaces it.',
      'If it was not you, ignore this mail. Your password stays as it is.',
    ],
  }),
} satisfies Record<string, (values: never) => MailText>;

export type MailKind = keyof typeof TEXTS;

/** The values of the text of each kind, without those that every text gets. */
export type MailValues<Kind extends MailKind> = Omit<Parameters<(typeof TEXTS)[Kind]>[0], keyof Common>;

export function textOf<Kind extends MailKind>(kind: Kind, values: MailValues<Kind> & Common): MailText {
  return (TEXTS[kind] as (values: MailValues<Kind> & Common) => MailText)(values);
}
