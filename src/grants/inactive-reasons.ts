import type { InactiveReason } from '../http/errors.ts';

const INACTIVE_SENTENCES: Record<InactiveReason, string> = {
  revoked_by_app: 'The app revoked this grant itself.',
  disconnected_by_user: 'The user disconnected the app.',
  disconnected_by_owner: 'An owner of the business disconnected the app.',
  code_reused: 'The code of this grant was sent twice, so its tokens were revoked: a code works once.',
  code_verifier_missing:
    'The code_verifier is missing: the authorize request had a code_challenge. The code no longer works.',
  code_verifier_unexpected:
    'A code_verifier was sent, but the authorize request had no code_challenge. The code no longer works.',
  code_verifier_wrong: 'The code_verifier did not match the code_challenge, and the code no longer works.',
  refresh_token_reused:
    'A refresh token of this grant was sent again after its successor had been used, so the grant was revoked: someone may ' +
    'have copied it. Always store the newest pair before you use it.',
  app_deleted: 'The app was deleted.',
  app_paused: 'The platform has paused the app.',
  app_disabled: 'The app is disabled.',
  app_closed: 'The app is no longer open to businesses other than its own.',
  app_tokens_ended: 'Every token that the app had got was ended, such as after a leak.',
  connection_limit:
    'The app has got more than 1,000 grants of this user in the business, and the one that expired first was ended.',
  app_blocked: 'An owner of the business has blocked the app.',
  user_disabled: 'The user who allowed this is disabled.',
  member_removed: 'The user who allowed this is no longer a member of the business.',
  connections_ended: 'All connections of the user were ended.',
  password_reset: 'The password of the user was reset, and every grant from before was ended.',
  backup_restored: 'The server was restored from a backup, and every grant from before was ended.',
  grant_expired: 'The user allowed the app for a limited time, which is over.',
};

/** A sentence that ends with the name of the reason, for logs and programs. */
export function explain(reason: InactiveReason): string {
  return `${INACTIVE_SENTENCES[reason]} (${reason})`;
}
