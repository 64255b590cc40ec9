import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
}

interface RequestOptions {
  challenge: string;
  rpId: string;
}

/** Wrong values that a test can make the authenticator or browser send. */
export interface AuthenticatorOverrides {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  counter?: number;
  credentialId?: string;
  userHandle?: string;
  isVerified?: boolean;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

/** A software authenticator with one passkey, used by a browser at this origin. Its counter stays at zero by default. */
export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16).toString('base64url');
  let owner = '';

  function clientData(type: string, challenge: string, overrides: AuthenticatorOverrides): Buffer {
    const data = {
      type: overrides.type ?? type,
      challenge: overrides.challenge ?? challenge,
      origin: overrides.origin ?? origin,
    };
    return Buffer.from(JSON.stringify({ ...data, crossOrigin: false }));
  }

  function authenticatorData(
    rpId: string,
    flags: number,
    { counter = 0, isVerified = true, ...overrides }: AuthenticatorOverrides,
  ): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const state = Buffer.from([flags | PRESENT | (isVerified ? VERIFIED : 0)]);
    return Buffer.concat([sha256(overrides.rpId ?? rpId), state, count]);
  }

  return {
    id,
    /** The text that a page would post after `navigator.credentials.create`. */
    create({ challenge, rp, user }: CreationOptions, overrides: AuthenticatorOverrides = {}): string {
      owner = user.id;
      const credentialId = Buffer.from(overrides.credentialId ?? id, 'base64url');
      const length = Buffer.from([credentialId.length >> 8, credentialId.length & 0xff]);
      const cose = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ]);
      const attested = [Buffer.alloc(16), length, credentialId, cose];
      const authData = Buffer.concat([authenticatorData(rp.id, WITH_CREDENTIAL, overrides), ...attested]);
      return credentialJson(overrides.credentialId ?? id, {
        clientDataJSON: clientData('webauthn.create', challenge, overrides),
        attestationObject: attestation(authData),
      });
    },
    /** The text that a page would post after `navigator.credentials.get`. */
    get({ challenge, rpId }: RequestOptions, overrides: AuthenticatorOverrides = {}): string {
      const clientDataJSON = clientData('webauthn.get', challenge, overrides);
      const authData = authenticatorData(rpId, 0, overrides);
      const signature = sign('sha256', Buffer.concat([authData, sha256(clientDataJSON)]), privateKey);
      const userHandle = Buffer.from(overrides.userHandle ?? owner, 'base64url');
      return credentialJson(overrides.credentialId ?? id, {
        clientDataJSON,
        authenticatorData: authData,
        signature,
        userHandle,
      });
    },
  };
}

function credentialJson(id: string, response: Record<string, Buffer>): string {
  const texts = Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]);
  const fields = { transports: ['internal'], ...Object.fromEntries(texts) };
  return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response: fields });
}

/** CBOR for { fmt: 'none', attStmt: {}, authData }. */
function attestation(authData: Buffer): Buffer {
  const head = Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex');
  const length = Buffer.from([authData.length >> 8, authData.length & 0xff]);
  return Buffer.concat([head, length, authData]);
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}
