import type { FastifyReply } from 'fastify';

/** Confirmations after a form. The URL carries only the name, so a forged link cannot show any other text. */
const MESSAGES = {
  disconnected: 'Disconnected. The app can no longer act for this person. Other people’s connections are unchanged.',
  authority_changed: 'The connection is under the authority of another owner now.',
  narrowed: 'Withdrawn. The app can no longer do it. To allow it again, connect the app again, from the app.',
  disconnected_everyone: 'Disconnected for everyone. The app no longer has access to the business.',
  saved: 'Saved.',
  app_disabled: 'The app is disabled. None of its tokens work.',
  app_enabled: 'The app is enabled.',
  pkce_required: 'The app now requires PKCE. A request without a code_challenge is rejected.',
  app_deleted: 'The app is deleted.',
  app_paused: 'The app is paused everywhere.',
  app_resumed: 'The app is resumed.',
  app_verified: 'The publisher is verified. Users see the mark on the consent screen.',
  app_unverified: 'The mark of a verified publisher is removed.',
  secret_removed: 'The secret is removed and no longer works.',
  endpoint_removed: 'The endpoint is removed.',
  endpoint_enabled: 'The endpoint is on.',
  endpoint_disabled: 'The endpoint is off.',
  name_changed: 'Your name has been changed.',
  password_changed: 'Your password has been changed. Every other session is signed out.',
  session_ended: 'The session has ended.',
  sessions_ended: 'You are signed out everywhere else.',
  passkey_added: 'The passkey has been added. You can now sign in with it.',
  passkey_removed: 'The passkey has been removed and no longer works.',
  second_factor_removed: 'The authenticator app has been removed. Your recovery codes no longer work.',
  two_step_required: 'Two-step sign-in is now required.',
  two_step_optional: 'Two-step sign-in is now optional.',
  second_step_required: 'Two-step sign-in is required. Sign in again, with your second step.',
  invitation_withdrawn: 'The invitation has been withdrawn. Its link no longer works.',
  joined: 'Welcome to the business. Apps that act for you there are listed here.',
  app_approved_person: 'Approved for this person. They can connect the app now.',
  app_approved_all: 'Approved for everyone. Members can connect the app now.',
  app_refused: 'Refused. The member sees your reason when they try again.',
  app_decision_withdrawn: 'The decision is withdrawn.',
  app_blocked: 'The app is blocked. It has lost its access to the business, and nobody can connect it.',
  app_unblocked: 'The app is no longer blocked.',
  role_changed: 'The role has been changed.',
  left: 'You have left the business. The apps that you connected there have lost their access, except for those of the business.',
  member_removed:
    'The member has been removed. The apps that they connected have lost their access, except for those that you took over.',
  user_disabled: 'The user is disabled and signed out everywhere.',
  user_enabled: 'The user is enabled.',
  session_over: 'Your session has ended. Sign in to continue.',
  signed_out: 'You are signed out.',
  password_set: 'Your new password is set. Sign in with it.',
  password_mailed:
    'If there is an account with this address, a mail with a link to set a new password is on its way. The link works for 30 minutes.',
  address_mailed:
    'A mail with a link is on its way. The link works for 30 minutes, in a browser in which you are signed in.',
  address_confirmed: 'Your address is confirmed.',
  invitation_mailed: 'A mail with a new link to the invitation is on its way. The link works for 30 minutes.',
  account_deleted: 'Your account is deleted.',
  email_verified: 'The email address is marked as verified.',
} as const;

export type Flash = keyof typeof MESSAGES;

/** Redirects to a page that shows the message. */
export function redirectWithFlash(reply: FastifyReply, path: string, done: Flash): FastifyReply {
  return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}done=${done}`, 303);
}

/** Messages of the sign-in page. It shows no others: anyone can send a link to it. */
const SHOWN_AT_SIGN_IN: string[] = [
  'session_over',
  'signed_out',
  'password_set',
  'password_mailed',
  'account_deleted',
  'invitation_mailed',
  'second_step_required',
] satisfies Flash[];

export function signInFlashMessage(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  return typeof name === 'string' && SHOWN_AT_SIGN_IN.includes(name) ? MESSAGES[name as Flash] : undefined;
}

export function flashMessage(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  return typeof name === 'string' && Object.hasOwn(MESSAGES, name) ? MESSAGES[name as Flash] : undefined;
}
