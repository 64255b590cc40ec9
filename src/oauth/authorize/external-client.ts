import type { App } from '../../apps/apps.ts';
import { appIdOf } from '../../apps/client-ids.ts';
import { type ClientMetadata, InvalidClientMetadata } from '../../apps/client-metadata.ts';
import {
  type ClientMetadataDocuments,
  createClientMetadataDocuments,
  type DocumentOptions,
} from '../../apps/client-metadata-documents.ts';
import { decodeDynamicClientId, isDynamicClientId } from '../../apps/dynamic-client-ids.ts';
import { usableRedirectUris } from '../../apps/redirect-uris.ts';
import type { ExternalBounds } from '../../grants/external-connections.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { parseScopes, type Scopes } from '../../lib/scope-lists.ts';
import { UntrustedRequest } from '../errors.ts';
import { readScopes, SCOPES } from '../scopes.ts';

/** For clients that are not registered here. */
export interface ExternalClients {
  /** Undefined if metadata documents are not accepted. */
  documents: ClientMetadataDocuments | undefined;
  acceptsRegistrations: boolean;
  /** The URI schemes of private-use redirect URIs (RFC 8252 §7.1). */
  privateSchemes: readonly string[];
  /** How many connections with such apps a user and a business may have. */
  bounds: ExternalBounds;
}

type Options = Omit<ExternalClients, 'documents'> &
  Omit<DocumentOptions, 'hosts'> & { documentHosts: DocumentOptions['hosts'] };

export function createExternalClients({
  acceptsRegistrations,
  privateSchemes,
  bounds,
  documentHosts: hosts,
  ...options
}: Options): ExternalClients {
  const documents = hosts.length > 0 ? createClientMetadataDocuments({ ...options, hosts, privateSchemes }) : undefined;
  return { documents, acceptsRegistrations, privateSchemes, bounds };
}

interface Presented {
  clientId: string;
  /** The caller's IP address. */
  address: string;
}

/** A registered client has a UUID; nothing else starts like these. */
export function isExternalClientId(clientId: string): boolean {
  return /^https?:/i.test(clientId) || isDynamicClientId(clientId);
}

/** The app that the client describes itself as. Stores nothing: its row is saved when a user allows it. */
export async function readExternalClient(
  deps: { keys: Keyring; externalClients: ExternalClients },
  presented: Presented,
  now: number,
): Promise<App> {
  const { clientId } = presented;
  const metadata = isDynamicClientId(clientId)
    ? readDynamicClient(deps, clientId)
    : await loadDocument(deps.externalClients, presented);
  return {
    id: appIdOf(clientId),
    externalClientId: clientId,
    name: metadata.name,
    redirectUris: metadata.redirectUris,
    allowedScopes: allowedScopesOf(metadata),
    ownerScope: 'external',
    ownerBusinessId: null,
    openToAnyBusiness: true,
    isPublic: true,
    requiresPkce: true,
    createdBy: null,
    createdAt: now,
    disabledAt: null,
    pausedAt: null,
    identity: metadata.identity,
    logoHash: null,
    verifiedAt: null,
  };
}

/** The known scopes that the metadata names, or all scopes if it names none. A user must still allow them. */
export function allowedScopesOf({ scope = '' }: ClientMetadata): Scopes {
  const { scopes } = readScopes(parseScopes(scope));
  return scopes.length > 0 ? scopes : SCOPES.map(({ name }) => name);
}

function readDynamicClient(
  { keys, externalClients }: { keys: Keyring; externalClients: ExternalClients },
  clientId: string,
): ClientMetadata {
  const metadata = externalClients.acceptsRegistrations ? decodeDynamicClientId(keys, clientId) : undefined;
  if (!metadata) {
    throw new UntrustedRequest(
      (texts) => texts.unknownApp,
      externalClients.acceptsRegistrations
        ? 'The client_id was not issued by this server, or is no longer valid. Register the app again.'
        : 'Apps cannot register themselves here: DYNAMIC_REGISTRATION is off. Use the URL of a client metadata document, or a public app that a business has registered.',
    );
  }
  // The operator may have removed a scheme since the client registered.
  const redirectUris = usableRedirectUris(metadata.redirectUris, externalClients.privateSchemes);
  return { ...metadata, redirectUris };
}

async function loadDocument({ documents }: ExternalClients, { clientId, address }: Presented): Promise<ClientMetadata> {
  if (!documents) {
    throw new UntrustedRequest(
      (texts) => texts.notRegistered,
      'This server accepts registered apps only, not the URL of a metadata document as client_id.',
    );
  }
  try {
    return await documents.load(clientId, address);
  } catch (error) {
    if (!(error instanceof InvalidClientMetadata)) throw error;
    const host = URL.parse(clientId)?.host ?? '';
    throw new UntrustedRequest((texts) => texts.unusableDocument(host), error.message);
  }
}
