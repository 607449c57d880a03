/** `acr` of a sign-in by one factor, such as a password, by two, and by two that nobody can be tricked out of (OIDC Core §2). */
export const oneFactorAcr = '1';
export const twoFactorsAcr = '2';
export const phishingResistantAcr = '3';

/** The classes of sign-ins that this server offers, the weakest first. */
export const acrValues: readonly string[] = [oneFactorAcr, twoFactorsAcr, phishingResistantAcr];

/** Whether a sign-in had two factors, by its methods (RFC 8176 §2). */
export function hasTwoFactors(methods: readonly string[]): boolean {
  return methods.includes('mfa');
}

/** Whether a sign-in was by a passkey, which proves a key and that its owner was verified (RFC 8176 §2). */
export function resistsPhishing(methods: readonly string[]): boolean {
  return hasTwoFactors(methods) && (methods.includes('hwk') || methods.includes('swk'));
}

/** What a tenant or an application may ask of sign-ins, the weakest first. */
export const authenticationPolicies = ['any', 'second-factor', 'phishing-resistant'] as const;

/** Whether a sign-in by these methods is enough for a policy. An unknown one, of a later version, is taken for the strongest. */
export function meetsPolicy(policy: string, methods: readonly string[]): boolean {
  if (policy === '' || policy === 'any') return true;
  return policy === 'second-factor' ? hasTwoFactors(methods) : resistsPhishing(methods);
}

/** The `acr` of a sign-in by its methods; undefined if they are not known. */
export function acrOf(methods: readonly string[]): string | undefined {
  if (methods.length === 0) return undefined;
  if (resistsPhishing(methods)) return phishingResistantAcr;
  return hasTwoFactors(methods) ? twoFactorsAcr : oneFactorAcr;
}

/** Whether a sign-in of class `acr` is one of the asked classes, or stronger than one of them. Classes of others are never met. */
export function meetsAcr(acr: string, asked: readonly string[]): boolean {
  const rank = acrValues.indexOf(acr);
  return asked.some((value) => acrValues.includes(value) && acrValues.indexOf(value) <= rank);
}
