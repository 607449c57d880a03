import { z } from 'zod';
import type { Entry } from '../../files/imported.ts';
import type { Credential } from '../realm/representation.ts';

const credentialData = z.object({
  credentialId: z.string().min(1),
  credentialPublicKey: z.string().min(1),
  counter: z.number().int().min(0).default(0),
  transports: z.array(z.string()).nullish(),
});

const transports: ReadonlySet<string> = new Set([
  'ble',
  'cable',
  'hybrid',
  'internal',
  'nfc',
  'smart-card',
  'usb',
]);

/** Credentials that sign in alone; those beside a password have another type. */
export const passkeyType = 'webauthn-passwordless';

/**
 * A passkey of the person with this identifier as the declared state has it; undefined if it is not in the file.
 * Authenticators know the person by the identifier.
 * @param rpId empty if it is the host of the realm
 */
export function passkeyOf(
  { credentialData: text }: Credential,
  userId: string,
  rpId: string,
): Entry | undefined {
  const data = read(text);
  if (data === undefined || userId === '') return undefined;
  const known = (data.transports ?? []).filter((transport) => transports.has(transport));
  return {
    credentialId: base64url(data.credentialId),
    publicKey: base64url(data.credentialPublicKey),
    userHandle: Buffer.from(userId).toString('base64url'),
    ...(rpId !== '' && { rpId }),
    signCount: data.counter,
    transports: known.toSorted(),
  };
}

/** Of base64 in either alphabet. */
function base64url(text: string): string {
  return Buffer.from(text, 'base64').toString('base64url');
}

function read(text: string): z.infer<typeof credentialData> | undefined {
  try {
    return credentialData.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
