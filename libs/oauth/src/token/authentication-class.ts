/** `acr` of a sign-in by one factor, such as a password, and by two (OIDC Core §2). */
export const oneFactorAcr = '1';
export const twoFactorsAcr = '2';

/** The classes of sign-ins that this server offers, the weakest first. */
export const acrValues: readonly string[] = [oneFactorAcr, twoFactorsAcr];

/** Whether a sign-in had two factors, by its methods (RFC 8176 §2). */
export function hasTwoFactors(methods: readonly string[]): boolean {
  return methods.includes('mfa');
}

/** The `acr` of a sign-in by its methods; undefined if they are not known. */
export function acrOf(methods: readonly string[]): string | undefined {
  if (methods.length === 0) return undefined;
  return hasTwoFactors(methods) ? twoFactorsAcr : oneFactorAcr;
}

/** Whether a sign-in of class `acr` is one of the asked classes, or stronger than one of them. Classes of others are never met. */
export function meetsAcr(acr: string, asked: readonly string[]): boolean {
  const rank = acrValues.indexOf(acr);
  return asked.some((value) => acrValues.includes(value) && acrValues.indexOf(value) <= rank);
}
