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
