/**
 * `acr` of a sign-in by one factor, such as a password, by two, and by two that nobody can be tricked out of (OIDC Core
 * §2).
 */
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

/**
 * What a tenant or an application may ask of sign-ins, the weakest first: each asks for the class of `acrValues` at its
 * place.
 */
export const authenticationPolicies = ['any', 'second-factor', 'phishing-resistant'] as const;

/** The policy of who asks for nothing. */
export const [weakestPolicy] = authenticationPolicies;

/** What is needed of a sign-in beyond one factor. */
export interface NeededFactors {
  /** One factor is not enough. */
  readonly needsTwoFactors: boolean;
  /** Only factors that nobody can be tricked out of are enough. */
  readonly needsPhishingResistance: boolean;
}

/**
 * What some policies, and some classes that are asked for beside them, need together. An unknown one, of a later
 * version, is taken for the strongest.
 */
export function neededFactors(policies: readonly string[], classes: readonly string[] = []): NeededFactors {
  const ranks = [
    ...policies.map((policy) => rankIn(authenticationPolicies, policy === '' ? weakestPolicy : policy)),
    ...classes.map((acr) => rankIn(acrValues, acr)),
  ];
  const isNeeded = (acr: string) => ranks.some((rank) => rank >= acrValues.indexOf(acr));
  return {
    needsTwoFactors: isNeeded(twoFactorsAcr),
    needsPhishingResistance: isNeeded(phishingResistantAcr),
  };
}

function rankIn(weakestFirst: readonly string[], name: string): number {
  const rank = weakestFirst.indexOf(name);
  return rank === -1 ? weakestFirst.length : rank;
}

/** Whether a sign-in by these methods has the needed factors. */
export function hasNeededFactors(
  { needsTwoFactors, needsPhishingResistance }: NeededFactors,
  methods: readonly string[],
): boolean {
  return (
    (!needsTwoFactors || hasTwoFactors(methods)) && (!needsPhishingResistance || resistsPhishing(methods))
  );
}

/** Whether a sign-in by these methods is enough for a policy. */
export function meetsPolicy(policy: string, methods: readonly string[]): boolean {
  return hasNeededFactors(neededFactors([policy]), methods);
}

/** The `acr` of a sign-in by its methods; undefined if they are not known. */
export function acrOf(methods: readonly string[]): string | undefined {
  if (methods.length === 0) return undefined;
  if (resistsPhishing(methods)) return phishingResistantAcr;
  return hasTwoFactors(methods) ? twoFactorsAcr : oneFactorAcr;
}

/**
 * Whether a sign-in of class `acr` is one of the asked classes, or stronger than one of them. Classes of others are
 * never met.
 */
export function meetsAcr(acr: string, asked: readonly string[]): boolean {
  const rank = acrValues.indexOf(acr);
  return asked.some((value) => acrValues.includes(value) && acrValues.indexOf(value) <= rank);
}
