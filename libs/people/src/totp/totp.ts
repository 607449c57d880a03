import type { TotpSettings } from '@tessera/directory/records';
import { Secret, TOTP } from 'otpauth';

/** Of the apps that people enrol here, as all apps support it: SHA-1, six digits, thirty seconds (RFC 6238 §4). */
export const ownSettings: TotpSettings = { algorithm: 'SHA1', digits: 6, period: 30 };

/** A clock may be one time step off, either way (RFC 6238 §5.2). */
const window = 1;

/** Bytes of a secret (RFC 4226 §4: 160 bits). */
export const totpSecretLength = 20;

/** The address that an authenticator app reads from a QR code. `tenant` and `account` are what it shows. */
export function totpUri(
  secret: Buffer,
  { tenant, account }: { readonly tenant: string; readonly account: string },
): string {
  return new TOTP({
    ...ownSettings,
    issuer: short(tenant),
    label: short(account),
    secret: secretOf(secret),
  }).toString();
}

/** Whether text can be a code of some app, and is no recovery code. */
export function isTotpCode(text: string): boolean {
  return /^(?:[0-9]{6}|[0-9]{8})$/.test(text);
}

/**
 * The time step that a code is of; undefined for a wrong one. A step is used up with its code, so the caller must store
 * it.
 * @param now milliseconds since the Unix epoch
 */
export function stepOfCode(
  secret: Buffer,
  code: string,
  now: number,
  { algorithm, digits, period }: TotpSettings = ownSettings,
): number | undefined {
  if (!isTotpCode(code) || code.length !== digits) return undefined;
  const made = { algorithm, digits, period, secret: secretOf(secret) };
  const delta = TOTP.validate({ ...made, token: code, timestamp: now, window });
  return delta === null ? undefined : TOTP.counter({ period, timestamp: now }) + delta;
}

function secretOf(bytes: Buffer): Secret {
  return new Secret({ buffer: new Uint8Array(bytes).buffer });
}

/** Longer names make a code that phones cannot read. */
function short(name: string): string {
  return [...name].slice(0, 40).join('');
}
