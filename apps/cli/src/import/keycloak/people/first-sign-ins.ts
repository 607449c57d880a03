import type { Report } from '../realm/realm.ts';
import type { Flow, IdentityProvider, Realm } from '../realm/representation.ts';

/** Keycloak's own, which no file needs to have, and in which everybody who is new gets an account. */
const ownFlow = 'first broker login';
const creation = 'idp-create-user-if-unique';

/**
 * What a flow may have besides: it decides who is linked to somebody who is there, which people prove here otherwise.
 */
const harmless = new Set([
  'auth-otp-form',
  'auth-recovery-authn-code-form',
  'conditional-credential',
  'conditional-user-configured',
  'idp-add-organization-member',
  'idp-confirm-link',
  'idp-email-verification',
  'idp-review-profile',
  'idp-username-password-form',
  'webauthn-authenticator',
]);

/**
 * Whether people who are new get an account at their first sign-in with a provider. Not so in a flow with a step that
 * may keep somebody out, which is reported.
 */
export function createsPeople(
  { authenticationFlows, firstBrokerLoginFlow }: Realm,
  { firstBrokerLoginFlowAlias: ofProvider }: IdentityProvider,
  tell: Report,
): boolean {
  const alias = ofProvider || firstBrokerLoginFlow || ownFlow;
  const byAlias = new Map([...authenticationFlows].map((flow) => [flow.alias, flow]));
  const flow = byAlias.get(alias);
  if (flow === undefined && alias === ownFlow) return true;
  const steps = flow === undefined ? [''] : stepsOf(flow, byAlias);
  if (steps.includes(creation) && steps.every((step) => step === creation || harmless.has(step))) return true;
  tell('who has no account gets none by its first sign-in, as the flow for it has no counterpart');
  return false;
}

/** The names of the steps of a flow that are not disabled, with those of the flows in it. */
function stepsOf(first: Flow, byAlias: ReadonlyMap<string, Flow>): string[] {
  const reached = new Set([first]);
  const steps: string[] = [];
  // What is added while it is walked is walked, too.
  for (const flow of reached)
    for (const { authenticator, requirement, flowAlias } of flow.authenticationExecutions) {
      if (requirement === 'DISABLED') continue;
      const inner = byAlias.get(flowAlias);
      if (inner !== undefined) reached.add(inner);
      else steps.push(authenticator);
    }
  return steps;
}
