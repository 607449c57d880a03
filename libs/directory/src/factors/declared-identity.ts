import { z } from 'zod';

/** A person has few providers. */
export const mostIdentities = 20;

/** What a person signs in with at a provider of the tenant: its `sub` (OIDC Core §2). */
export const declaredIdentity = z.strictObject({
  provider: z.string().max(63),
  /** Whose `sub` it is, if that is known: the provider of this name may be another one here. */
  issuer: z.string().max(512).optional(),
  subject: z
    .string()
    .max(255)
    .regex(/^[\x20-\x7e]+$/, 'must consist of ASCII characters'),
});

export type DeclaredIdentity = z.infer<typeof declaredIdentity>;

/** As it is remembered: another issuer under the same name is another provider. */
export function identityText({ provider, subject }: DeclaredIdentity, issuer: string): string {
  return JSON.stringify([provider, issuer, subject]);
}

/** What was remembered. */
export function identityOf(text: string): { provider: string; issuer: string; subject: string } {
  const [provider = '', issuer = '', subject = ''] = JSON.parse(text) as string[];
  return { provider, issuer, subject };
}
