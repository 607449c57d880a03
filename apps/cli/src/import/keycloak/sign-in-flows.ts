import { authenticationPolicies } from '@tessera/oauth';
import type { Flow } from './realm.ts';

/** The policy of who needs one more, and of who needs a passkey. */
export const [, secondFactor, phishingResistant] = authenticationPolicies;

/** What a flow asks for: a policy, or `unknown` if it has a step that is not known here. */
export type FlowPolicy = (typeof authenticationPolicies)[number] | 'unknown';

/** What a step asks for; `nothing` if it asks people for nothing. */
type Asked = FlowPolicy | 'nothing';

/** Keycloak's own, which no file needs to have. */
const ownFlow = 'browser';

/** Whoever has set up the factor is asked for it, and nobody else. */
const whoHasOne = 'conditional-user-configured';

/** By the name of the authenticator. */
const steps: Readonly<Record<string, Asked>> = {
  'allow-access-authenticator': 'nothing',
  'auth-password-form': 'any',
  'auth-username-form': 'nothing',
  'auth-username-password-form': 'any',
  'auth-otp-form': secondFactor,
  'auth-recovery-authn-code-form': secondFactor,
  'webauthn-authenticator': secondFactor,
  'webauthn-authenticator-passwordless': phishingResistant,
};

/** What a flow asks people for, by its alias or its identifier. A step that some people skip counts for all. */
export function policyOfFlow(name: string, flows: readonly Flow[]): FlowPolicy {
  const flow = flows.find(({ alias, id }) => alias === name || id === name);
  if (flow === undefined) return name === '' || name === ownFlow ? 'any' : 'unknown';
  const asked = askedIn(flow, flows, new Set());
  return asked === 'nothing' ? 'unknown' : asked;
}

function askedIn(flow: Flow, flows: readonly Flow[], above: ReadonlySet<string>): Asked {
  if (above.has(flow.alias)) return 'unknown';
  const within = new Set([...above, flow.alias]);
  const asked = { needed: [] as Asked[], alternatives: [] as Asked[] };
  for (const { authenticator, requirement, flowAlias } of flow.authenticationExecutions) {
    if (requirement === 'DISABLED' || authenticator.startsWith('conditional-')) continue;
    const below = flows.find(({ alias }) => alias === flowAlias);
    let step: Asked = steps[authenticator] ?? 'unknown';
    if (flowAlias !== '') step = below === undefined ? 'unknown' : askedIn(below, flows, within);
    // OPTIONAL is of Keycloak before 8: it asks whoever has set up the factor.
    if (requirement === 'OPTIONAL' || (requirement === 'CONDITIONAL' && asksWhoHasOne(below)))
      step = 'nothing';
    if (requirement === 'ALTERNATIVE') asked.alternatives.push(step);
    else asked.needed.push(step);
  }
  if (asked.needed.length > 0) return strongest(asked.needed);
  // One that is not known here, such as a cookie or another provider, is no way in here.
  return weakest(asked.alternatives.filter((step) => step !== 'unknown' && step !== 'nothing'));
}

function asksWhoHasOne(flow: Flow | undefined): boolean {
  const conditions = (flow?.authenticationExecutions ?? [])
    .filter(({ requirement }) => requirement !== 'DISABLED')
    .map(({ authenticator }) => authenticator)
    .filter((authenticator) => authenticator.startsWith('conditional-'));
  return conditions.includes(whoHasOne);
}

const ranks: readonly Asked[] = ['nothing', ...authenticationPolicies, 'unknown'];

function strongest(asked: readonly Asked[]): Asked {
  return ranks.findLast((rank) => asked.includes(rank)) ?? 'nothing';
}

/** Nothing is left of a flow without any way in that is known. */
function weakest(asked: readonly Asked[]): Asked {
  return ranks.find((rank) => asked.includes(rank)) ?? 'unknown';
}
