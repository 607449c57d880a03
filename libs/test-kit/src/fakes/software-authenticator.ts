import { generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';

/** What an honest authenticator and browser would do otherwise (WebAuthn L3 §5.8.1, §6.1). */
export interface Deviation {
  readonly type?: string;
  readonly challenge?: string;
  readonly origin?: string;
  readonly crossOrigin?: boolean;
  readonly rpId?: string;
  /** In place of the flags of the authenticator data. */
  readonly flags?: number;
  readonly signCount?: number;
  /** Base64url; null for none. */
  readonly userHandle?: string | null;
  readonly credentialId?: string;
  /** Whether another key signs. */
  readonly otherKey?: boolean;
  /** CBOR of an attestation: `fmt` and `attStmt`. */
  readonly attestation?: Buffer;
  /** CBOR of the COSE algorithm of a new key, in place of -7 (ES256). */
  readonly algorithm?: Buffer;
}

/** Bits of the authenticator data (§6.1). */
export const authenticatorFlags = {
  present: 0x01,
  verified: 0x04,
  synced: 0x08,
  backedUp: 0x10,
  attested: 0x40,
} as const;

const noAttestation = Buffer.concat([text('fmt'), text('none'), text('attStmt'), Buffer.from([0xa0])]);

/** One passkey (ES256) and the browser that it is used in. It answers with the JSON that `toJSON` makes (§5.1). */
export class SoftwareAuthenticator {
  readonly credentialId = randomBytes(16).toString('base64url');
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  readonly #synced: boolean;
  #userHandle = '';
  #signCount = 0;

  constructor(origin: string, synced = false) {
    this.#origin = origin;
    this.#synced = synced;
  }

  /** Makes the passkey. */
  create(optionsJson: string, deviation: Deviation = {}): string {
    const options = JSON.parse(optionsJson) as {
      challenge: string;
      rp: { id: string };
      user: { id: string };
    };
    this.#userHandle = options.user.id;
    const credentialId = deviation.credentialId ?? this.credentialId;
    const id = Buffer.from(credentialId, 'base64url');
    const length = Buffer.from([id.length >> 8, id.length & 255]);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, this.#publicKey(deviation)]);
    const data = Buffer.concat([this.#head(options.rp.id, deviation, authenticatorFlags.attested), attested]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      deviation.attestation ?? noAttestation,
      text('authData'),
      Buffer.from([0x58, data.length]),
      data,
    ]);
    return JSON.stringify({
      id: credentialId,
      rawId: credentialId,
      type: 'public-key',
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, deviation).toString(
          'base64url',
        ),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal', 'from-the-future'],
      },
      clientExtensionResults: {},
    });
  }

  /** Signs a challenge with it. */
  get(options: { readonly challenge: string; readonly rpId: string }, deviation: Deviation = {}): string {
    const clientData = this.#clientData('webauthn.get', options.challenge, deviation);
    const data = this.#head(options.rpId, deviation, 0);
    const { privateKey } =
      deviation.otherKey === true ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : this.#keys;
    const signed = Buffer.concat([data, hash('sha256', clientData, 'buffer')]);
    const { credentialId = this.credentialId, userHandle = this.#userHandle } = deviation;
    return JSON.stringify({
      id: credentialId,
      rawId: credentialId,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        ...(userHandle !== null && { userHandle }),
      },
      clientExtensionResults: {},
    });
  }

  #clientData(type: string, challenge: string, deviation: Deviation): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: deviation.type ?? type,
        challenge: deviation.challenge ?? challenge,
        origin: deviation.origin ?? this.#origin,
        crossOrigin: deviation.crossOrigin ?? false,
      }),
    );
  }

  #head(rpId: string, deviation: Deviation, also: number): Buffer {
    const { present, verified, synced, backedUp } = authenticatorFlags;
    const flags = deviation.flags ?? present | verified | (this.#synced ? synced | backedUp : 0);
    this.#signCount += 1;
    const counter = Buffer.alloc(4);
    // Passkeys that are copied have no counter.
    counter.writeUInt32BE(deviation.signCount ?? (this.#synced ? 0 : this.#signCount));
    return Buffer.concat([
      hash('sha256', deviation.rpId ?? rpId, 'buffer'),
      Buffer.from([flags | also]),
      counter,
    ]);
  }

  /** COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y} (RFC 9053 §7.1.1). */
  #publicKey({ algorithm = Buffer.from([0x26]) }: Deviation): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    return Buffer.concat([
      Buffer.from('a5010203', 'hex'),
      algorithm,
      Buffer.from('2001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ]);
  }
}

/** CBOR of a short text (RFC 8949 §3.1). */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)]);
}
