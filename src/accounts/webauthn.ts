import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { idToBytes } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import {
  type Challenge,
  type ChallengePurpose,
  type Credential,
  createChallenge,
  type Passkey,
  readChallenge,
} from './passkeys.ts';
import type { User } from './users.ts';

/** The relying party. A browser offers a passkey to no other site. */
export interface Site {
  keys: Keyring;
  name: string;
  origin: string;
}

/** The COSE identifiers of ES256, EdDSA and RS256. */
const ALGORITHMS = [-7, -8, -257];

/** No attestation is requested, and no format is accepted that would have to be checked with a manufacturer. */
const ATTESTATION_FORMATS = ['none', 'packed'];

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

/** Options for `navigator.credentials.create()`. User verification is required: the passkey replaces a password. */
export async function registrationOptions(
  site: Site,
  { user, boundTo, known }: { user: User; boundTo: string; known: Passkey[] },
  now: number,
) {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: site.name,
    rpID: siteId(site),
    userID: new Uint8Array(idToBytes(user.id)),
    userName: user.email,
    userDisplayName: user.name,
    challenge: createChallenge(site.keys, 'passkey to add', boundTo, now),
    attestationType: 'none',
    excludeCredentials: known.map(({ credential: { id, transports } }) => ({ id, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** Options for `navigator.credentials.get()`. They name no credential, so they do not reveal which ones exist. */
export async function authenticationOptions(
  site: Site,
  { boundTo, purpose = 'passkey to sign in' }: { boundTo: string; purpose?: ChallengePurpose },
  now: number,
) {
  const { generateAuthenticationOptions } = await library();
  const challenge = createChallenge(site.keys, purpose, boundTo, now);
  return generateAuthenticationOptions({ rpID: siteId(site), challenge, userVerification: 'required' });
}

/** Undefined unless the response is a valid registration for this site and challenge. */
export async function verifyRegistration(
  site: Site,
  { text, boundTo }: { text: string; boundTo: string },
  now: number,
): Promise<{ credential: Credential; challenge: Challenge } | undefined> {
  const response = parseResponse<RegistrationResponseJSON>(text);
  if (typeof response?.response.attestationObject !== 'string') return undefined;
  const { verifyRegistrationResponse, decodeAttestationObject } = await library();
  const expected = expect(site, 'passkey to add', boundTo, now);
  try {
    const attestation = decodeAttestationObject(
      new Uint8Array(Buffer.from(response.response.attestationObject, 'base64url')),
    );
    if (!ATTESTATION_FORMATS.includes(attestation.get('fmt'))) return undefined;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      ...expected.options,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    const challenge = expected.challenge();
    if (!verified || !challenge) return undefined;
    const { id, publicKey, counter, transports } = registrationInfo.credential;
    return { credential: { id, publicKey, counter, transports: readTransports(transports) }, challenge };
  } catch {
    // The library throws if it rejects the response.
    return undefined;
  }
}

/** The credential id that a response names. It is not verified yet. */
export function claimedCredential(text: string): string | undefined {
  return parseResponse<AuthenticationResponseJSON>(text)?.id;
}

interface SignedChallenge {
  text: string;
  boundTo: string;
  passkey: Passkey;
  purpose?: ChallengePurpose;
}

/** Undefined unless the passkey has signed our challenge, with user verification. */
export async function verifyAuthentication(
  site: Site,
  { text, boundTo, passkey, purpose = 'passkey to sign in' }: SignedChallenge,
  now: number,
): Promise<{ counter: number; challenge: Challenge } | undefined> {
  const response = parseResponse<AuthenticationResponseJSON>(text);
  // WebAuthn §7.2, step 6: the user handle must be that of the owner of the passkey.
  const owner = idToBytes(passkey.userId).toString('base64url');
  if (response?.response.userHandle !== owner) return undefined;
  const { verifyAuthenticationResponse } = await library();
  const expected = expect(site, purpose, boundTo, now);
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      ...expected.options,
      credential: passkey.credential,
    });
    const challenge = expected.challenge();
    return verified && challenge ? { counter: authenticationInfo.newCounter, challenge } : undefined;
  } catch {
    return undefined;
  }
}

/** The expected values for the library. `challenge()` returns the challenge that the response was for. */
function expect(site: Site, purpose: ChallengePurpose, boundTo: string, now: number) {
  let challenge: Challenge | undefined;
  return {
    challenge: () => challenge,
    options: {
      expectedOrigin: site.origin,
      expectedRPID: siteId(site),
      requireUserVerification: true,
      expectedChallenge(text: string) {
        const decoded = Buffer.from(text, 'base64url').toString();
        challenge = readChallenge(site.keys, { purpose, boundTo, text: decoded }, now);
        return challenge !== undefined;
      },
    },
  };
}

/** Checks only the fields that are read before the library validates the rest. */
function parseResponse<Response>(text: string): Response | undefined {
  try {
    const parsed = JSON.parse(text);
    return typeof parsed?.id === 'string' && typeof parsed.response === 'object' && parsed.response
      ? parsed
      : undefined;
  } catch {
    return undefined;
  }
}

function readTransports(transports: unknown): string[] {
  return Array.isArray(transports) ? TRANSPORTS.filter((name) => transports.includes(name)) : [];
}

function siteId({ origin }: Site): string {
  return new URL(origin).hostname;
}

/** Loaded on first use: it is large, and most requests do not need it. */
async function library() {
  const [server, { decodeAttestationObject }] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, decodeAttestationObject };
}
