import type { FastifyReply } from 'fastify';

/** What a page says after something was done. Only the name travels in the address, so nobody can put words into it. */
const MESSAGES = {
  disconnected: 'Disconnected. This access has ended; what other people have connected stays.',
  disconnected_everyone: 'Disconnected for everyone. The app has no access to the business any more.',
  saved: 'Saved.',
  app_disabled: 'The app is disabled. None of its tokens work.',
  app_enabled: 'The app is enabled.',
  pkce_required: 'The app now requires PKCE. A request without a code_challenge is rejected.',
  app_deleted: 'The app is deleted.',
  app_paused: 'The app is paused everywhere.',
  app_resumed: 'The app is resumed.',
  secret_removed: 'The secret is removed, and no longer works.',
  endpoint_removed: 'The endpoint is removed.',
  endpoint_enabled: 'The endpoint is on.',
  endpoint_disabled: 'The endpoint is off.',
  name_changed: 'Your name has been changed.',
  password_changed: 'Your password has been changed. Every other session is signed out.',
  session_ended: 'The session has ended.',
  sessions_ended: 'You are signed out everywhere else.',
  passkey_added: 'The passkey has been added. You can now sign in with it.',
  passkey_removed: 'The passkey has been removed and no longer works.',
  invitation_withdrawn: 'The invitation has been withdrawn. Its link no longer works.',
  joined: 'Welcome to the business. Apps that act for you there are listed here.',
  role_changed: 'The role has been changed.',
  left: 'You have left the business. The apps that you connected there have lost their access.',
  member_removed: 'The member has been removed. The apps that they connected have lost their access.',
  user_disabled: 'The user is disabled and signed out everywhere.',
  user_enabled: 'The user is enabled.',
  session_over: 'Your session has ended. Sign in to continue.',
  signed_out: 'You are signed out.',
  password_set: 'Your new password is set. Sign in with it.',
  email_verified: 'The email address is marked as verified.',
} as const;

export type Flash = keyof typeof MESSAGES;

/** To a page that says what was done. */
export function redirectWithFlash(reply: FastifyReply, path: string, done: Flash): FastifyReply {
  return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}done=${done}`, 303);
}

/** Said where nobody is signed in; a link that someone made up can have nothing else said there. */
const SHOWN_AT_SIGN_IN: string[] = ['session_over', 'signed_out', 'password_set'] satisfies Flash[];

export function signInFlashMessage(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  return typeof name === 'string' && SHOWN_AT_SIGN_IN.includes(name) ? MESSAGES[name as Flash] : undefined;
}

export function flashMessage(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | undefined)?.done;
  return typeof name === 'string' && Object.hasOwn(MESSAGES, name) ? MESSAGES[name as Flash] : undefined;
}
