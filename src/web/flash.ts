import type { FastifyReply } from 'fastify';
import { en, type Texts } from '../languages/en.ts';

/** Confirmations after a form. The URL carries only the name, so a forged link cannot show any other text. */
const MESSAGES = {
  ...en.signInMessages,
  disconnected: 'Disconnected. The app can no longer act for this person. Other people’s connections are unchanged.',
  authority_changed: 'Another owner is now responsible for the connection.',
  handover_offered: 'The other owner has been asked. Until they accept, nothing changes.',
  handover_declined: 'Declined. Nothing has changed.',
  handover_withdrawn: 'Withdrawn. Nothing has changed.',
  narrowed: 'Permissions withdrawn. To restore them, connect again from the app.',
  disconnected_everyone: 'Disconnected for everyone. The app no longer has access to the business.',
  saved: 'Saved.',
  app_disabled: 'The app is disabled. None of its tokens work.',
  app_enabled: 'The app is enabled.',
  pkce_required: 'The app now requires PKCE. A request without a code_challenge is rejected.',
  app_tokens_ended: 'Every token and code that the app had is ended.',
  app_deleted: 'The app is deleted.',
  app_paused: 'The app is paused everywhere.',
  app_resumed: 'The app is resumed.',
  app_verified: 'The publisher is verified. Users see the Verified publisher badge on the consent screen.',
  app_unverified: 'The Verified publisher badge is removed.',
  secret_removed: 'The secret is removed and no longer works.',
  endpoint_removed: 'The endpoint is removed.',
  endpoint_enabled: 'The endpoint is on.',
  endpoint_disabled: 'The endpoint is off.',
  test_sent: 'A test event is on its way. The list shows its result.',
  delivery_resent: 'The event is being sent again. The attempts below show the result.',
  business_renamed: 'The business has been renamed.',
  name_changed: 'Your name has been changed.',
  password_changed: 'Your password has been changed. Every other session is signed out.',
  session_ended: 'The session has ended.',
  sessions_ended: 'You are signed out everywhere else.',
  passkey_added: 'The passkey has been added. You can now sign in with it.',
  passkey_removed: 'The passkey has been removed and no longer works.',
  second_factor_removed: 'The authenticator app has been removed. Your recovery codes no longer work.',
  two_step_required: 'Two-step sign-in is now required.',
  two_step_optional: 'Two-step sign-in is now optional.',
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
  connections_ended: 'All connections are ended.',
  user_enabled: 'The user is enabled.',
  address_mailed:
    'An email with a link is on its way. The link works for 30 minutes, in a browser where you are signed in.',
  address_confirmed: 'Your address is confirmed.',
  email_verified: 'The email address is marked as verified.',
};

export type Flash = keyof typeof MESSAGES;

/** Redirects to a page that shows the message. */
export function redirectWithFlash(reply: FastifyReply, path: string, done: Flash): FastifyReply {
  return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}done=${done}`, 303);
}

/** Messages of the sign-in page. It shows no others: anyone can send a link to it. */
export function signInFlashMessage({ signInMessages }: Texts, query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  if (typeof name !== 'string' || !Object.hasOwn(signInMessages, name)) return undefined;
  return signInMessages[name as keyof Texts['signInMessages']];
}

export function flashMessage(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  return typeof name === 'string' && Object.hasOwn(MESSAGES, name) ? MESSAGES[name as Flash] : undefined;
}
