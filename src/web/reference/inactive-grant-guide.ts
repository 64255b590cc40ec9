import type { InactiveReason } from '../../http/errors.ts';

/** Why a grant is inactive, and what to do. */
export const INACTIVE_GRANT: Record<InactiveReason, string> = {
  revoked_by_app: 'The app itself revoked the grant. To connect the user again, send them to the authorize endpoint.',
  disconnected_by_user: 'The user disconnected the app. Let them connect it again when they want to.',
  disconnected_by_owner:
    'An owner of the business disconnected the app, for this user or for everyone. Ask the business before you send ' +
    'the user to connect it again.',
  code_reused:
    'The code was sent twice, so the tokens from its first exchange were revoked: the code may have been stolen. ' +
    'Exchange each code once, and do not repeat an exchange whose response was lost. Send the user to the authorize ' +
    'endpoint again.',
  code_verifier_missing:
    'The authorize request had a `code_challenge`, so the exchange needs its `code_verifier`. The code can no ' +
    'longer be used; start again.',
  code_verifier_unexpected:
    'The exchange had a `code_verifier`, but the authorize request had no `code_challenge`. The code can no longer ' +
    'be used; start again with both.',
  code_verifier_wrong:
    'The `code_verifier` does not match the `code_challenge`, and the code can no longer be used. Store the verifier ' +
    'in the user’s session, and start again.',
  refresh_token_reused:
    'A refresh token was sent again after its successor had been used, so the grant was revoked: the token may have ' +
    'been stolen. Store each new pair before you use it, read the store before you refresh, and send the user to the ' +
    'authorize endpoint again.',
  app_deleted: 'The app was deleted. Its credentials and tokens no longer work.',
  app_paused:
    'The platform has paused the app everywhere. Contact the platform: once it resumes the app, the same tokens work again.',
  app_disabled: 'The app is disabled. Its owner can enable it again, and then the same tokens work again.',
  app_closed: 'The app’s owner closed it to businesses other than its own.',
  app_tokens_ended:
    'Every token and code that the app had got was ended, by its owner or the platform, such as after a leak. Send the ' +
    'user to the authorize endpoint again: they are not asked again for what they have allowed.',
  connection_limit:
    'The app has got more than 1,000 grants of this user in the business, so the one whose refresh token expired first ' +
    'was ended. Store the tokens of a user and refresh them, instead of sending the user to the authorize endpoint each ' +
    'time; revoke those that you no longer need.',
  app_blocked: 'An owner of the business blocked the app. Nobody there can connect it, until an owner unblocks it.',
  user_disabled: 'The user who allowed the app is disabled. Another member of the business can connect it.',
  member_removed: 'The user who allowed the app is no longer a member of the business. Another member can connect it.',
  connections_ended:
    'The user, or the platform for them, ended all their connections. Let the user connect the app again.',
  password_reset:
    'The password of the user was reset, and every earlier grant was ended. Let the user connect the app again.',
  backup_restored:
    'The server was restored from a backup, and every earlier grant was ended. Let the user connect the app again.',
  grant_expired:
    'The user allowed the app for a limited time, which is over. No token can be refreshed any more. Let the user connect ' +
    'the app again when they want to.',
};
