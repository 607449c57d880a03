import { z } from 'zod';

/** Bytes of a secret: 80 bits are the fewest that apps have, and more than 1024 add nothing. */
const [fewestBytes, mostBytes] = [10, 128];

/** An authenticator app (RFC 6238), as another product has it. The secret is base32 (RFC 4648 §6), as apps show it. */
export const declaredTotp = z.strictObject({
  secret: z
    .string()
    .max(256)
    .regex(/^[A-Za-z2-7]+=*$/, 'must be base32')
    .refine((text) => {
      const { length } = base32Bytes(text);
      return length >= fewestBytes && length <= mostBytes;
    }, `must have ${fewestBytes} to ${mostBytes} bytes`),
  algorithm: z.enum(['SHA1', 'SHA256', 'SHA512']).default('SHA1'),
  digits: z.union([z.literal(6), z.literal(8)], 'must be 6 or 8').default(6),
  period: z.int().min(15).max(120).default(30),
});

export type DeclaredTotp = z.infer<typeof declaredTotp>;

/** How codes are made, besides the secret. `period` is in seconds. */
export type TotpSettings = Omit<DeclaredTotp, 'secret'>;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The bytes of base32 (RFC 4648 §6). */
export function base32Bytes(text: string): Buffer {
  const bytes: number[] = [];
  let [bits, value] = [0, 0];
  for (const letter of text.replace(/=+$/, '').toUpperCase()) {
    value = (value << 5) | alphabet.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
    value &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}
