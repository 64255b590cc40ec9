import { FormError } from '../lib/errors.ts';
import { readName, readPublicName } from '../lib/names.ts';
import { formatScopes, parseScopes, type Scopes } from '../lib/scope-lists.ts';
import { readWebAddress } from '../lib/web-addresses.ts';
import type { Row } from '../storage/tables.ts';
import { readRedirectUris } from './redirect-uris.ts';

/** What a developer registers, or an external client that a user has allowed. `client-ids.ts` relates its id to its `client_id`. */
export interface App extends AppSettings {
  id: string;
  /** `external`: it is not registered here. It describes itself, and is never first-party. */
  ownerScope: 'business' | 'platform' | 'external';
  /** Null for a platform app and an external app. */
  ownerBusinessId: string | null;
  /** Whether it has no secret, like a program on the computer of its user (RFC 6749 §2.1). */
  isPublic: boolean;
  /** The `client_id` of an external app; null for a registered app, whose `client_id` is its id. */
  externalClientId: string | null;
  createdBy: string | null;
  createdAt: number;
  /** When its owner disabled it. */
  disabledAt: number | null;
  /** When the platform paused it everywhere. */
  pausedAt: number | null;
  identity: AppIdentity;
  /** The address of its logo contains it. Null without a logo. */
  logoHash: string | null;
  /** When the platform verified who publishes it. */
  verifiedAt: number | null;
}

/** What the owner of an app can change. */
export interface AppSettings {
  name: string;
  redirectUris: string[];
  allowedScopes: Scopes;
  /** Whether users of other businesses can connect it to theirs. */
  openToAnyBusiness: boolean;
  requiresPkce: boolean;
}

/** Who publishes an app, and where people learn more. Null for what its owner has not entered. */
export interface AppIdentity {
  /** Users see it once the platform has verified it; until then, they see the name of the business. */
  publisherName: string | null;
  homepageUrl: string | null;
  supportUrl: string | null;
  privacyUrl: string | null;
  termsUrl: string | null;
}

export const NO_IDENTITY: AppIdentity = {
  publisherName: null,
  homepageUrl: null,
  supportUrl: null,
  privacyUrl: null,
  termsUrl: null,
};

interface SettingsRules {
  isPublic?: boolean | undefined;
  /** Schemes of redirect URIs that a public app may have (RFC 8252 §7.1). */
  privateSchemes?: readonly string[] | undefined;
  /** Of an app that exists. */
  currentName?: string;
}

/** A public app always uses PKCE: nothing else protects its codes (RFC 9700 §2.1.1). */
export function settingsRow(
  settings: AppSettings,
  { isPublic = false, privateSchemes = [], currentName }: SettingsRules,
) {
  const row = {
    name: readPublicName('name', settings.name, currentName),
    redirect_uris: JSON.stringify(readRedirectUris(settings.redirectUris, isPublic ? privateSchemes : [])),
    allowed_scopes: formatScopes(settings.allowedScopes),
    open_to_any_business: settings.openToAnyBusiness ? 1 : 0,
    requires_pkce: settings.requiresPkce || isPublic ? 1 : 0,
  };
  if (settings.allowedScopes.length === 0) throw new FormError('scope', 'Choose at least one scope.');
  return row;
}

export function identityRow({ publisherName, homepageUrl, supportUrl, privacyUrl, termsUrl }: AppIdentity) {
  return {
    publisher_name: publisherName === null ? null : readName('publisher', publisherName),
    homepage_url: homepageUrl === null ? null : readWebAddress('homepage', homepageUrl),
    support_url: supportUrl === null ? null : readWebAddress('support', supportUrl),
    privacy_url: privacyUrl === null ? null : readWebAddress('privacy', privacyUrl),
    terms_url: termsUrl === null ? null : readWebAddress('terms', termsUrl),
  };
}

export function fromRow(row: Row<'apps'>): App {
  return {
    id: row.id,
    name: row.name,
    ownerScope: row.owner_scope,
    ownerBusinessId: row.owner_business_id,
    isPublic: row.is_public === 1,
    externalClientId: row.external_client_id,
    openToAnyBusiness: row.open_to_any_business === 1,
    requiresPkce: row.requires_pkce === 1,
    allowedScopes: parseScopes(row.allowed_scopes),
    redirectUris: JSON.parse(row.redirect_uris),
    createdBy: row.created_by,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    pausedAt: row.paused_at,
    identity: {
      publisherName: row.publisher_name,
      homepageUrl: row.homepage_url,
      supportUrl: row.support_url,
      privacyUrl: row.privacy_url,
      termsUrl: row.terms_url,
    },
    logoHash: row.logo_hash,
    verifiedAt: row.verified_at,
  };
}
