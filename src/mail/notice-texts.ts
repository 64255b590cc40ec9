/** What a user is told about their account or their apps. */
export interface NoticeText {
  title: string;
  sentence: string;
  /** What to do if it is unexpected. */
  advice: string;
}

const NOT_YOU =
  'If it was not you, change your password and sign out everywhere else on your account page. Look at your passkeys and your authenticator app there, too.';
const NOT_EXPECTED = 'If you did not expect it, look at the audit log of the business.';

interface AppChange {
  app: string;
  by: string;
}

interface InBusiness {
  business: string;
}

/** Every notice, for the account page and for mail. */
export const NOTICE_TEXTS = {
  new_sign_in: ({ browser, address }: { browser: string; address: string }): NoticeText => ({
    title: 'New sign-in',
    sentence: `${browser} signed in to your account from ${address}. This browser had not been used before.`,
    advice: NOT_YOU,
  }),
  wrong_code: ({ address }: { address: string }): NoticeText => ({
    title: 'Wrong code after your password',
    sentence: `Someone entered your password from ${address}, and then a wrong code.`,
    advice: 'If it was not you, someone knows your password. Change it.',
  }),
  app_connected: ({ app, business }: { app: string; business: string }): NoticeText => ({
    title: 'App connected',
    sentence: `You allowed ${app} to access ${business}.`,
    advice: 'If it was not you, disconnect the app under Connected apps, and change your password.',
  }),
  approval_requested: ({ app, business, by }: AppChange & InBusiness): NoticeText => ({
    title: 'Approval requested',
    sentence: `${by} asks to connect ${app} to ${business}.`,
    advice: 'Decide about it under Business, Apps.',
  }),
  app_approved: ({ app, business }: { app: string } & InBusiness): NoticeText => ({
    title: 'App approved',
    sentence: `An owner of ${business} has approved your request to connect ${app}.`,
    advice: `Go to ${app} and connect it again.`,
  }),
  app_refused: ({ app, business, reason }: { app: string; reason: string } & InBusiness): NoticeText => ({
    title: 'App refused',
    sentence: `An owner of ${business} has refused your request to connect ${app}.`,
    advice: reason ? `Their reason: ${reason}` : 'They gave no reason. Ask them if you need the app for your work.',
  }),
  connection_transferred: ({ app, business, from }: { app: string; from: string } & InBusiness): NoticeText => ({
    title: 'You answer for a connection',
    sentence: `${app} is connected for ${business}. It acted under the authority of ${from}, and acts under yours now.`,
    advice: 'Under Connected apps you see what it may do. Disconnect it if the business no longer needs it.',
  }),
  secret_added: ({ app, by }: AppChange): NoticeText => ({
    title: 'Secret added',
    sentence: `${by} added a secret to the app ${app}.`,
    advice: NOT_EXPECTED,
  }),
  endpoint_disabled: ({ app, host, why }: { app: string; host: string; why: string }): NoticeText => ({
    title: 'Webhook endpoint switched off',
    sentence: `The endpoint at ${host} of the app ${app} is off: ${why}.`,
    advice: 'Its events are kept for a while. Switch it on again on the page of the app.',
  }),
  factor_added: ({ what }: { what: string }): NoticeText => ({
    title: 'New way to sign in',
    sentence: `${what} was added to your account.`,
    advice: NOT_YOU,
  }),
  factor_removed: ({ what, by }: { what: string; by: string }): NoticeText => ({
    title: 'Way to sign in removed',
    sentence: `${what} was removed from your account by ${by}.`,
    advice: NOT_YOU,
  }),
  recovery_code_used: ({ left }: { left: string }): NoticeText => ({
    title: 'Recovery code used',
    sentence: `A recovery code of your account was used. Codes left: ${left}.`,
    advice: NOT_YOU,
  }),
  recovery_codes_renewed: (_: Record<string, never>): NoticeText => ({
    title: 'New recovery codes',
    sentence: 'New recovery codes were created for your account. The previous ones no longer work.',
    advice: NOT_YOU,
  }),
  password_changed: ({ how }: { how: string }): NoticeText => ({
    title: 'Password changed',
    sentence: `Your password was changed ${how}.`,
    advice:
      'If it was not you, ask for a link to set a new password on the sign-in page, or ask an owner of your business.',
  }),
} satisfies Record<string, (values: never) => NoticeText>;

export type NoticeKind = keyof typeof NOTICE_TEXTS;

/** The values of the text of each kind. */
export type NoticeValues<Kind extends NoticeKind> = Parameters<(typeof NOTICE_TEXTS)[Kind]>[0];

/** Undefined if a newer version recorded it. */
export function noticeText(kind: string, values: Record<string, string>): NoticeText | undefined {
  if (!Object.hasOwn(NOTICE_TEXTS, kind)) return undefined;
  return (NOTICE_TEXTS[kind as NoticeKind] as (values: Record<string, string>) => NoticeText)(values);
}
