import { z } from 'zod';
import type { Credential } from './realm.ts';

const secretData = z.object({ value: z.string().min(1), salt: z.string().default('') });
const credentialData = z.object({
  algorithm: z.string(),
  hashIterations: z.number().int(),
  additionalParameters: z.record(z.string(), z.array(z.string())).default({}),
});

/** The digest of PBKDF2 by Keycloak's name, and the bytes of its blocks. */
const digests: Readonly<Record<string, { readonly name: string; readonly block: number }>> = {
  pbkdf2: { name: 'sha1', block: 20 },
  'pbkdf2-sha256': { name: 'sha256', block: 32 },
  'pbkdf2-sha512': { name: 'sha512', block: 64 },
};

/** The password of a credential as a PHC string, or why it has none. */
export function passwordHashOf({
  secretData: secretText,
  credentialData: dataText,
  hashedSaltedValue: value,
  salt: saltBefore,
  hashIterations: iterations,
  algorithm: algorithmBefore,
}: Credential): { readonly hash: string } | { readonly problem: string } {
  // Keycloak before 8 has the parts of a hash beside each other.
  const isFormer = value !== '';
  const former = { algorithm: algorithmBefore, hashIterations: iterations, additionalParameters: {} };
  const secret = isFormer ? { value, salt: saltBefore } : read(secretData, secretText);
  const data: z.infer<typeof credentialData> | undefined = isFormer ? former : read(credentialData, dataText);
  if (secret === undefined || data === undefined) return { problem: 'is not in the file' };
  const { algorithm, hashIterations, additionalParameters: parameters } = data;
  const salt = unpadded(secret.salt);
  const digest = digests[algorithm];
  if (digest !== undefined) {
    // RFC 8018 §5.2: blocks are computed one by one. The first proves the password, at a fraction of the cost.
    const tag = Buffer.from(secret.value, 'base64').subarray(0, digest.block).toString('base64');
    return { hash: `$pbkdf2-${digest.name}$i=${hashIterations}$${salt}$${unpadded(tag)}` };
  }
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
  return { hash: `$argon2${type ?? ''}$v=19$${costs}$${salt}$${unpadded(secret.value)}` };
}

function read<T extends z.ZodType>(schema: T, text: string): z.infer<T> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}
