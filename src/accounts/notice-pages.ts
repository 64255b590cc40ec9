import type { NoticeKind } from '../mail/notice-texts.ts';

type Values = Record<string, string>;

const ACCOUNT = '/settings/account';

/**
 * The page on which the reader of a notice can act. Rows of version 0.1.0 have no ids: their addresses lead to the
 * business that the reader chose last.
 */
const PAGES: Record<NoticeKind, (values: Values) => string> = {
  new_sign_in: () => `${ACCOUNT}#sessions`,
  wrong_code: () => `${ACCOUNT}#password-section`,
  app_connected: connectedApps,
  approval_requested: ({ businessId }) =>
    businessId ? `/businesses/${businessId}/settings/apps` : '/settings/business/apps',
  app_approved: connectedApps,
  app_refused: () => `${ACCOUNT}#notices`,
  connection_transferred: connectedApps,
  handover_offered: ({ businessId, appId, userId }) =>
    `/businesses/${businessId}/connected-apps/${appId}/${userId}/authority`,
  secret_added: appPage,
  endpoint_disabled: (values) => (values.appId ? `${appPage(values)}/endpoints` : appPage(values)),
  factor_added: () => `${ACCOUNT}#passkeys`,
  factor_removed: () => `${ACCOUNT}#passkeys`,
  recovery_code_used: () => `${ACCOUNT}#two-step`,
  recovery_codes_renewed: () => `${ACCOUNT}#two-step`,
  password_changed: () => `${ACCOUNT}#password-section`,
};

function connectedApps({ businessId }: Values): string {
  return businessId ? `/businesses/${businessId}/connected-apps` : '/settings/connected-apps';
}

/** An app of the platform belongs to no business. */
function appPage({ appId, businessId }: Values): string {
  if (!appId) return '/settings/developer';
  return businessId ? `/businesses/${businessId}/developer/${appId}` : `/platform/developer/apps/${appId}`;
}

/** Undefined if a newer version recorded it. */
export function noticePage(kind: string, values: Values): string | undefined {
  return Object.hasOwn(PAGES, kind) ? PAGES[kind as NoticeKind](values) : undefined;
}
