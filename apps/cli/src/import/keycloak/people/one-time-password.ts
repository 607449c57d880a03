import { z } from 'zod';
import type { Entry } from '../../files/imported.ts';
import type { Credential } from '../realm/representation.ts';

const secretData = z.object({ value: z.string().min(1) });
const credentialData = z.object({
  subType: z.string(),
  digits: z.number(),
  period: z.number().default(0),
  algorithm: z.string(),
  secretEncoding: z.string().nullish(),
});

/** By Keycloak's name. */
const algorithms: ReadonlyMap<string, string> = new Map([
  ['HmacSHA1', 'SHA1'],
  ['HmacSHA256', 'SHA256'],
  ['HmacSHA512', 'SHA512'],
]);

/** Bytes that a secret may have, and seconds that a code may last. */
const [bytes, seconds] = [
  { least: 10, most: 128 },
  { least: 15, most: 120 },
];

/** The credentials that are one-time passwords; the former versions have a type for each kind. */
export const oneTimePasswords: ReadonlySet<string> = new Set(['hotp', 'otp', 'totp']);

/** The authenticator app of a credential as the declared state has it, or why it does not come. */
export function totpOf(credential: Credential): { readonly totp: Entry } | { readonly problem: string } {
  const {
    type,
    hashedSaltedValue,
    digits: digitsBefore,
    period: periodBefore,
    algorithm: before,
  } = credential;
  // Keycloak before 8 has the parts beside each other.
  const isFormer = type !== 'otp';
  const former = { subType: type, digits: digitsBefore, period: periodBefore, algorithm: before };
  const secret = isFormer ? { value: hashedSaltedValue } : read(secretData, credential.secretData);
  const data: z.infer<typeof credentialData> | undefined = isFormer
    ? former
    : read(credentialData, credential.credentialData);
  if (secret === undefined || data === undefined || secret.value === '')
    return { problem: 'is not in the file' };
  if (data.subType !== 'totp') return { problem: 'is by a counter, which is unknown here' };
  const { digits, period } = data;
  const algorithm = algorithms.get(data.algorithm);
  if (algorithm === undefined || ![6, 8].includes(digits))
    return { problem: 'has codes that are unknown here' };
  if (!(Number.isInteger(period) && period >= seconds.least && period <= seconds.most))
    return { problem: `has codes that do not last ${seconds.least} to ${seconds.most} seconds` };
  const isBase32 = data.secretEncoding?.toUpperCase() === 'BASE32';
  if (!isBase32 && (data.secretEncoding ?? '') !== '')
    return { problem: 'has a secret that is unknown here' };
  const text = isBase32 ? secret.value : base32(Buffer.from(secret.value));
  const length = Math.floor((text.replaceAll('=', '').length * 5) / 8);
  if (!/^[A-Za-z2-7]+=*$/.test(text) || length < bytes.least || length > bytes.most)
    return { problem: `has a secret that is not of ${bytes.least} to ${bytes.most} bytes` };
  return { totp: { secret: text, algorithm, digits, period } };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 §6, without padding. */
function base32(secret: Buffer): string {
  const bits = [...secret].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)] ?? '').join('');
}

function read<T extends z.ZodType>(schema: T, text: string): z.infer<T> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
