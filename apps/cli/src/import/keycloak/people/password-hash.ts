import { z } from 'zod';
import { pbkdf2Hash, unpadded, type Digest } from '../../files/pbkdf2-hash.ts';
import type { Credential } from '../realm/representation.ts';

const secretData = z.object({ value: z.string().min(1), salt: z.string().default('') });
const credentialData = z.object({
  algorithm: z.string(),
  hashIterations: z.number().int(),
  additionalParameters: z.record(z.string(), z.array(z.string())).default({}),
});

/** The digest of PBKDF2 by Keycloak's name. */
const digests: ReadonlyMap<string, Digest> = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
]);

/** The password of a credential as a PHC string, or why it has none. */
export function passwordHashOf({
  secretData: secretText,
  credentialData: dataText,
  hashedSaltedValue: value,
  salt: saltBefore,
  hashIterations: iterations,
  algorithm: algorithmBefore,
}: Omit<Credential, 'digits' | 'period'>): { readonly hash: string } | { readonly problem: string } {
  // Keycloak before 8 has the parts of a hash beside each other.
  const isFormer = value !== '';
  const former = { algorithm: algorithmBefore, hashIterations: iterations, additionalParameters: {} };
  const secret = isFormer ? { value, salt: saltBefore } : read(secretData, secretText);
  const data: z.infer<typeof credentialData> | undefined = isFormer ? former : read(credentialData, dataText);
  if (secret === undefined || data === undefined) return { problem: 'is not in the file' };
  const { algorithm, hashIterations, additionalParameters: parameters } = data;
  const digest = digests.get(algorithm);
  if (digest !== undefined) return { hash: pbkdf2Hash(digest, hashIterations, secret) };
  const {
    type: [type] = [],
    memory: [memory] = [],
    parallelism: [lanes] = [],
    version: [version] = [],
  } = parameters;
  if (algorithm !== 'argon2' || version !== '1.3')
    return {
      problem: `has a hash by ${algorithm}${version === undefined ? '' : ` ${version}`}, which is unknown here`,
    };
  const costs = `m=${memory ?? ''},t=${hashIterations},p=${lanes ?? ''}`;
  return { hash: `$argon2${type ?? ''}$v=19$${costs}$${unpadded(secret.salt)}$${unpadded(secret.value)}` };
}

function read<T extends z.ZodType>(schema: T, text: string): z.infer<T> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
