import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import { NO_IDENTITY } from './app.ts';
import { type ClientMetadata, InvalidClientMetadata } from './client-metadata.ts';

const PREFIX = 'dyn_';
/** It is part of URLs, which some proxies cut at 8 kB. */
const MAX_LENGTH = 2000;
const PURPOSE = 'dynamic client';

/** The keys are short, because the `client_id` contains them. */
interface SignedMetadata {
  n: string;
  r: string[];
}

/** The pages of a client that registers itself are not shown: it could name those of anyone. */
type EncodedMetadata = Omit<ClientMetadata, 'identity'>;

export function isDynamicClientId(clientId: string): boolean {
  return clientId.startsWith(PREFIX);
}

/**
 * The `client_id` of a client that registers itself contains its metadata and a signature, so that nothing is stored. The same
 * metadata has the same `client_id`, as RFC 7591 §3.2.1 allows for several instances of one client.
 */
export function encodeDynamicClientId(keys: Keyring, { name, redirectUris }: EncodedMetadata): string {
  const signed: SignedMetadata = { n: name, r: redirectUris };
  const clientId = PREFIX + encodeSigned(keys, PURPOSE, signed);
  if (clientId.length <= MAX_LENGTH) return clientId;
  throw new InvalidClientMetadata('redirect_uris', 'The metadata is too long: send fewer or shorter redirect_uris.');
}

/** Undefined if this server did not sign it, or signed it with a key that it no longer has. */
export function decodeDynamicClientId(keys: Keyring, clientId: string): ClientMetadata | undefined {
  if (!isDynamicClientId(clientId) || clientId.length > MAX_LENGTH) return undefined;
  const signed = decodeSigned<SignedMetadata>(keys, PURPOSE, clientId.slice(PREFIX.length));
  return signed && { name: signed.n, redirectUris: signed.r, scope: undefined, identity: NO_IDENTITY };
}
