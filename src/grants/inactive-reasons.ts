/** Why a grant is inactive. Sent to the app with the error. */
export type GrantReason =
  | 'revoked_by_app'
  | 'disconnected_by_user'
  | 'disconnected_by_owner'
  | 'code_reused'
  | 'code_verifier_wrong'
  | 'refresh_token_reused'
  | 'app_deleted'
  | 'app_paused'
  | 'app_disabled'
  | 'app_closed'
  | 'user_disabled'
  | 'member_removed'
  | 'password_reset'
  | 'backup_restored';

const SENTENCES: Record<GrantReason, string> = {
  revoked_by_app: 'The app revoked this grant itself.',
  disconnected_by_user: 'The user disconnected the app.',
  disconnected_by_owner: 'An owner of the business disconnected the app.',
  code_reused: 'The code of this grant was sent twice, so everything it gave was revoked: a code works once.',
  code_verifier_wrong: 'The code_verifier and the code_challenge did not belong together, and that used the code up.',
  refresh_token_reused:
    'A refresh token of this grant was sent again after its successor had been used, so the grant was revoked: someone may ' +
    'have copied it. Always store the newest pair before you use it.',
  app_deleted: 'The app was deleted.',
  app_paused: 'The platform has paused the app.',
  app_disabled: 'The app is disabled.',
  app_closed: 'The app is no longer open to other businesses than its own.',
  user_disabled: 'The user who allowed this is disabled.',
  member_removed: 'The user who allowed this is no longer a member of the business.',
  password_reset: 'The password of the user was reset, and every grant from before was ended.',
  backup_restored: 'The server was restored from a backup, and every grant from before was ended.',
};

/** A sentence that ends with the name of the reason, for logs and programs. */
export function explain(reason: GrantReason): string {
  return `${SENTENCES[reason]} (${reason})`;
}
