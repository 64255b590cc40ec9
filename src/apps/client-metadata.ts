import { FormError } from '../lib/errors.ts';
import { readName } from '../lib/names.ts';
import { parseWebAddress } from '../lib/web-addresses.ts';
import { type AppIdentity, NO_IDENTITY } from './app.ts';
import { readRedirectUris, usableRedirectUris } from './redirect-uris.ts';

/** What an external client says about itself (RFC 7591 §2), in a metadata document or a registration request. */
export interface ClientMetadata {
  name: string;
  redirectUris: string[];
  /** As sent; undefined if it names no scopes. */
  scope: string | undefined;
  identity: AppIdentity;
}

/** The message is for the developer of the client. */
export class InvalidClientMetadata extends Error {
  readonly field: string;

  constructor(field: string, problem: string) {
    super(problem);
    this.field = field;
  }
}

type Fields = Record<string, unknown>;

/** `defaultName` is the name of a client that gives none, `host` the one that its document is from. */
interface MetadataRules {
  defaultName: string;
  host?: string;
  privateSchemes: readonly string[];
}

/** A document lists the redirect URIs of every installation of the client, so those that cannot be used here are left out. */
export function readDocument(fields: Fields, rules: MetadataRules): ClientMetadata {
  for (const field of ['client_secret', 'client_secret_expires_at']) {
    if (field in fields) throw new InvalidClientMetadata(field, `${field} is not allowed: the document is public.`);
  }
  readAuthMethod(fields);
  const texts = readTexts(fields, 'redirect_uris');
  const usable = usableRedirectUris(texts, rules.privateSchemes);
  if (usable.length > 0) return { ...readCommon(fields, rules), redirectUris: usable };
  return { ...readCommon(fields, rules), redirectUris: checkRedirectUris(texts, rules.privateSchemes) };
}

/**
 * RFC 7591 §2. A secret is never issued: whatever `token_endpoint_auth_method` asks for, the response says `none`, as
 * §3.2.1 allows. Nor does `scope` limit the client: the official MCP clients register with the scopes of their first request,
 * and ask for more when a tool needs them.
 */
export function readRegistration(fields: Fields, rules: MetadataRules): ClientMetadata {
  const redirectUris = checkRedirectUris(readTexts(fields, 'redirect_uris'), rules.privateSchemes);
  return { ...readCommon(fields, rules), redirectUris, scope: undefined };
}

function readCommon(fields: Fields, { defaultName, host }: MetadataRules): Omit<ClientMetadata, 'redirectUris'> {
  requireListed(fields, 'grant_types', 'authorization_code');
  requireListed(fields, 'response_types', 'code');
  return {
    name: readClientName(readText(fields, 'client_name') ?? defaultName),
    scope: readText(fields, 'scope'),
    identity: readIdentity(fields, host),
  };
}

/**
 * Only pages on the host of the document: anyone can link to a page of someone else. `logo_uri` is not read. A logo
 * would make a client look known, and to fetch it, this server or the browser of the user would have to send a request
 * to an unknown host.
 */
function readIdentity(fields: Fields, host: string | undefined): AppIdentity {
  const readLink = (field: string) => {
    const { [field]: text } = fields;
    const address = typeof text === 'string' && host !== undefined ? parseWebAddress(text) : undefined;
    return address !== undefined && new URL(address).host === host ? address : null;
  };
  return {
    ...NO_IDENTITY,
    homepageUrl: readLink('client_uri'),
    privacyUrl: readLink('policy_uri'),
    termsUrl: readLink('tos_uri'),
  };
}

/**
 * There is no way to share a secret, and no other method than `none` is supported. ChatGPT prefers `private_key_jwt` and
 * lists `none` among the methods it can use (OpenID Connect Relying Party Metadata Choices 1.0).
 */
function readAuthMethod(fields: Fields): void {
  const field = 'token_endpoint_auth_method';
  const method = readText(fields, field) ?? 'none';
  if (method.startsWith('client_secret')) {
    throw new InvalidClientMetadata(field, `${field} is ${method.slice(0, 40)}, which needs a shared secret.`);
  }
  const others = fields.token_endpoint_auth_methods_supported;
  if (method === 'none' || (Array.isArray(others) && others.includes('none'))) return;
  throw new InvalidClientMetadata(field, `${field} has to be none.`);
}

function readClientName(text: string): string {
  try {
    return readName('client_name', text);
  } catch (error) {
    if (!(error instanceof FormError)) throw error;
    throw new InvalidClientMetadata(
      'client_name',
      'client_name has to be 1 to 80 characters, without hidden or control characters.',
    );
  }
}

function checkRedirectUris(texts: string[], privateSchemes: readonly string[]): string[] {
  try {
    return readRedirectUris(texts, privateSchemes);
  } catch (error) {
    if (!(error instanceof FormError)) throw error;
    const [first = ''] = error.message.split('\n');
    throw new InvalidClientMetadata('redirect_uris', `redirect_uris cannot be used. ${first}`);
  }
}

function requireListed(fields: Fields, field: string, needed: string): void {
  const list = fields[field];
  if (list === undefined || (Array.isArray(list) && list.includes(needed))) return;
  throw new InvalidClientMetadata(field, `${field} has to include ${needed}.`);
}

function readText(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new InvalidClientMetadata(field, `${field} has to be text.`);
  return value;
}

function readTexts(fields: Fields, field: string): string[] {
  const list = fields[field];
  if (!Array.isArray(list) || list.length === 0 || !list.every((each) => typeof each === 'string')) {
    throw new InvalidClientMetadata(field, `${field} has to be a list of one or more texts.`);
  }
  return list;
}
