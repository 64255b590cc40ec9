import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { idToBytes } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import { type Challenge, type ChallengePurpose, createChallenge, readChallenge } from './challenges.ts';
import type { Credential, Passkey } from './passkeys.ts';
import type { User } from './users.ts';

/** To whom a passkey is bound: the browser itself keeps it from every other site. */
export interface Site {
  keys: Keyring;
  name: string;
  origin: string;
}

/** ES256, EdDSA and RS256, by their COSE numbers. */
const ALGORITHMS = [-7, -8, -257];

/** We ask for no statement of who made the authenticator, and read none that would make us ask its maker. */
const STATEMENTS = ['none', 'packed'];

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

/** What the browser needs to make a passkey. The device must know its owner each time: the passkey replaces a password. */
export async function registrationOptions(
  site: Site,
  { user, bearer, known }: { user: User; bearer: string; known: Passkey[] },
  now: number,
) {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: site.name,
    rpID: siteId(site),
    userID: new Uint8Array(idToBytes(user.id)),
    userName: user.email,
    userDisplayName: user.name,
    challenge: createChallenge(site.keys, 'passkey to add', bearer, now),
    attestationType: 'none',
    excludeCredentials: known.map(({ credential: { id, transports } }) => ({ id, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** No passkey is named: the browser shows those it has, and we tell nobody which exist. */
export async function authenticationOptions(site: Site, bearer: string, now: number) {
  const { generateAuthenticationOptions } = await library();
  const challenge = createChallenge(site.keys, 'passkey to sign in', bearer, now);
  return generateAuthenticationOptions({ rpID: siteId(site), challenge, userVerification: 'required' });
}

/** Undefined for whatever is not a new passkey, made here and now by whom we asked. */
export async function verifyRegistration(
  site: Site,
  { answer, bearer }: { answer: string; bearer: string },
  now: number,
): Promise<{ credential: Credential; challenge: Challenge } | undefined> {
  const response = parseResponse<RegistrationResponseJSON>(answer);
  if (typeof response?.response.attestationObject !== 'string') return undefined;
  const { verifyRegistrationResponse, decodeAttestationObject } = await library();
  const expected = expect(site, 'passkey to add', bearer, now);
  try {
    const statement = decodeAttestationObject(
      new Uint8Array(Buffer.from(response.response.attestationObject, 'base64url')),
    );
    if (!STATEMENTS.includes(statement.get('fmt'))) return undefined;
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
    // The library throws for whatever it does not accept.
    return undefined;
  }
}

/** Which credential an answer claims to be of. Nothing is proven yet. */
export function claimedCredential(answer: string): string | undefined {
  return parseResponse<AuthenticationResponseJSON>(answer)?.id;
}

/** Undefined unless the passkey has signed what we asked, here and now, with its owner before it. */
export async function verifyAuthentication(
  site: Site,
  { answer, bearer, passkey }: { answer: string; bearer: string; passkey: Passkey },
  now: number,
): Promise<{ counter: number; challenge: Challenge } | undefined> {
  const response = parseResponse<AuthenticationResponseJSON>(answer);
  // WebAuthn §7.2, step 6: the authenticator names the user, and it has to be the owner of the passkey.
  const owner = idToBytes(passkey.userId).toString('base64url');
  if (response?.response.userHandle !== owner) return undefined;
  const { verifyAuthenticationResponse } = await library();
  const expected = expect(site, 'passkey to sign in', bearer, now);
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

/** What an answer is held against; afterwards, which challenge it was the answer to. */
function expect(site: Site, purpose: ChallengePurpose, bearer: string, now: number) {
  let challenge: Challenge | undefined;
  return {
    challenge: () => challenge,
    options: {
      expectedOrigin: site.origin,
      expectedRPID: siteId(site),
      requireUserVerification: true,
      expectedChallenge(text: string) {
        const sealed = Buffer.from(text, 'base64url').toString();
        challenge = readChallenge(site.keys, { purpose, bearer, sealed }, now);
        return challenge !== undefined;
      },
    },
  };
}

/** As much of its shape as is looked at before the library checks the rest. */
function parseResponse<Answer>(text: string): Answer | undefined {
  try {
    const answer = JSON.parse(text);
    return typeof answer?.id === 'string' && typeof answer.response === 'object' && answer.response
      ? answer
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

/** Loaded only when someone uses a passkey: it is large, and a start-up does not need it. */
async function library() {
  const [server, { decodeAttestationObject }] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, decodeAttestationObject };
}
