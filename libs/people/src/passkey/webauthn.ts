import type { AttestationObject } from '@simplewebauthn/server/helpers';
import { credentialIdShape, passkeyUserNames } from '@tessera/oauth';
import { z } from 'zod';

/**
 * What a page asked a browser for: the domain of the passkey, the only origin that may use it, and a challenge
 * (base64url).
 */
export interface Ceremony {
  readonly rpId: string;
  readonly origin: string;
  readonly challenge: string;
}

/** A passkey that a browser has created (WebAuthn L3 §4, credential record). */
export interface NewPasskey {
  /** Base64url. */
  readonly credentialId: string;
  /** COSE (RFC 9052). */
  readonly publicKey: Buffer;
  readonly signCount: number;
  readonly transports: readonly string[];
  /** Whether it can be copied to other devices (§6.1.3, BE). */
  readonly synced: boolean;
  readonly backedUp: boolean;
  /** Whether its owner was verified when it was made (§6.1, UV). */
  readonly verified: boolean;
}

/** What a passkey has signed, as the browser sends it. */
export interface Assertion {
  readonly credentialId: string;
  /** Base64url; absent if the authenticator has sent none. */
  readonly userHandle: string | undefined;
  readonly response: z.infer<typeof assertionJson>;
}

/** Loaded when first used: with what it needs for certificates it is a seventh of all that a start would load. */
const library = async () => import('@simplewebauthn/server');

/** EdDSA, ES256 and RS256, which every authenticator of today has one of. */
const algorithms = [-8, -7, -257] as const;

const base64url = z
  .string()
  .min(1)
  .regex(/^[\w-]+$/);
const credentialId = z.string().regex(credentialIdShape);
const credential = { id: credentialId, rawId: credentialId, type: z.literal('public-key') };

const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

const registrationJson = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string()).default([]),
  }),
});

const assertionJson = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
});

/** PublicKeyCredentialCreationOptionsJSON (WebAuthn L3 §5.4), for a person and beside the passkeys that they have. */
export function creationOptions(
  { rpId, challenge }: Ceremony,
  person: {
    /** Base64url. */
    readonly handle: string;
    readonly tenantName: string;
    readonly username: string;
    /** May be empty. */
    readonly name: string;
  },
  present: readonly Pick<NewPasskey, 'credentialId' | 'transports'>[],
): string {
  const { handle, tenantName, username, name } = person;
  return JSON.stringify({
    challenge,
    rp: { id: rpId, name: tenantName },
    user: { id: handle, ...passkeyUserNames({ tenantName, username, name }) },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: present.map(({ credentialId: id, transports: ways }) => ({
      type: 'public-key',
      id,
      transports: ways,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  });
}

/**
 * Judges a new passkey (WebAuthn L3 §7.1); undefined if anything is wrong with it.
 * @param byBrowser whether the browser may have made it by itself, without anybody's presence (§7.1 step 15)
 */
export async function verifyRegistration(
  ceremony: Ceremony,
  text: string,
  byBrowser = false,
): Promise<NewPasskey | undefined> {
  const { data: registration } = registrationJson.safeParse(parsed(text));
  if (registration === undefined) return undefined;
  const { response } = registration;
  const { verifyRegistrationResponse } = await library();
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  return orUndefined(async () => {
    const attestation = Buffer.from(response.attestationObject, 'base64url');
    if (isAttested(decodeAttestationObject(new Uint8Array(attestation)))) return undefined;
    if (isEmbedded(response.clientDataJSON)) return undefined;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...registration,
        response: { ...response, transports: [] },
        clientExtensionResults: {},
      },
      ...expected(ceremony),
      requireUserVerification: !byBrowser,
      requireUserPresence: !byBrowser,
      supportedAlgorithmIDs: [...algorithms],
    });
    if (registrationInfo === undefined) return undefined;
    const { credential: made, credentialDeviceType, credentialBackedUp, userVerified } = registrationInfo;
    if (made.id !== registration.id) return undefined;
    return {
      credentialId: made.id,
      publicKey: Buffer.from(made.publicKey),
      signCount: made.counter,
      transports: transports.filter((transport) => response.transports.includes(transport)),
      synced: credentialDeviceType === 'multiDevice',
      backedUp: credentialBackedUp,
      verified: userVerified,
    };
  });
}

/** What a passkey has signed; undefined for anything else. */
export function readAssertion(text: string): Assertion | undefined {
  const { data: response } = assertionJson.safeParse(parsed(text));
  if (response === undefined) return undefined;
  return { credentialId: response.id, userHandle: response.response.userHandle ?? undefined, response };
}

/**
 * Judges what a passkey has signed (WebAuthn L3 §7.2), except for its counter, which the caller compares when it stores
 * it. Undefined if anything is wrong.
 */
export async function verifyAssertion(
  ceremony: Ceremony,
  { response: assertion }: Assertion,
  stored: Pick<NewPasskey, 'credentialId' | 'publicKey'> & {
    /** Undefined if it is not known yet. */
    readonly synced: boolean | undefined;
  },
): Promise<Pick<NewPasskey, 'signCount' | 'backedUp' | 'synced'> | undefined> {
  const { response } = assertion;
  const { verifyAuthenticationResponse } = await library();
  return orUndefined(async () => {
    if (isEmbedded(response.clientDataJSON)) return undefined;
    const { userHandle: _userHandle, ...signed } = response;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, response: signed, clientExtensionResults: {} },
      ...expected(ceremony),
      credential: { id: stored.credentialId, publicKey: new Uint8Array(stored.publicKey), counter: 0 },
    });
    const { newCounter, credentialBackedUp, credentialDeviceType } = authenticationInfo;
    const synced = credentialDeviceType === 'multiDevice';
    if (!verified || synced !== (stored.synced ?? synced)) return undefined;
    return { signCount: newCounter, backedUp: credentialBackedUp, synced };
  });
}

function expected({ rpId, origin, challenge }: Ceremony) {
  return {
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  };
}

/** Whether it comes from a frame in a page of another origin, in which ours are never shown. */
function isEmbedded(clientDataJson: string): boolean {
  const data = z
    .object({ crossOrigin: z.boolean().optional(), topOrigin: z.string().optional() })
    .parse(parsed(Buffer.from(clientDataJson, 'base64url').toString()));
  return data.crossOrigin === true || data.topOrigin !== undefined;
}

/**
 * We ask for no attestation, so one with certificates is none of ours; judging it would fetch from addresses that it
 * names.
 */
function isAttested(decoded: AttestationObject): boolean {
  const format = decoded.get('fmt');
  return format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The library throws for whatever is wrong with what a stranger sent. */
async function orUndefined<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}
