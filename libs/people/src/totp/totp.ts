import { Secret, TOTP } from 'otpauth';

/** What authenticator apps support: SHA-1, six digits, thirty seconds (RFC 6238 §4). */
const settings = { algorithm: 'SHA1', digits: 6, period: 30 } as const;

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
    ...settings,
    issuer: short(tenant),
    label: short(account),
    secret: secretOf(secret),
  }).toString();
}

/** Whether text can be a code, and is no recovery code. */
export function isTotpCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text);
}

/**
 * The time step that a code is of; undefined for a wrong one. A step is used up with its code, so the caller must store
 * it.
 * @param now milliseconds since the Unix epoch
 */
export function stepOfCode(secret: Buffer, code: string, now: number): number | undefined {
  if (!isTotpCode(code)) return undefined;
  const delta = TOTP.validate({ ...settings, token: code, secret: secretOf(secret), timestamp: now, window });
  return delta === null ? undefined : TOTP.counter({ period: settings.period, timestamp: now }) + delta;
}

function secretOf(bytes: Buffer): Secret {
  return new Secret({ buffer: new Uint8Array(bytes).buffer });
}

/** Longer names make a code that phones cannot read. */
function short(name: string): string {
  return [...name].slice(0, 40).join('');
}
