import { authenticationPolicies } from '@tessera/oauth';
import type { Flow, Realm } from './representation.ts';

/** The policy of who needs one more, and of who needs a passkey. */
export const [, secondFactor, phishingResistant] = authenticationPolicies;

/** What a flow asks for: a policy, or `unknown` if it has a step that is not known here. */
export type FlowPolicy = (typeof authenticationPolicies)[number] | 'unknown';

/** What a step asks for; `nothing` if it asks people for nothing. */
type Asked = FlowPolicy | 'nothing';

/** What a flow does to people. */
interface Reading {
  readonly asks: Asked;
  /** Whether it keeps anybody out, whatever they have. */
  readonly denies: boolean;
}

/** Of a sign-in flow. */
interface OfFlow {
  readonly policy: FlowPolicy;
  readonly denies: boolean;
}

/** The sign-in flows of a realm. */
export interface SignInFlows {
  /** What a flow asks people for, by its alias or its identifier. A step that some people skip counts for all. */
  of(name: string): OfFlow;
  /** Whether people may sign in with a passkey alone in a flow, or in one of it. */
  takesPasskeys(name: string): boolean;
}

/** Keycloak's own, which no file needs to have. */
const ownFlow = 'browser';

/** Whoever has set up the factor is asked for it, and nobody else. */
const whoHasOne = 'conditional-user-configured';

const denial = 'deny-access-authenticator';
const passkeyAlone = 'webauthn-authenticator-passwordless';

/** By the name of the authenticator. */
const steps: ReadonlyMap<string, Asked> = new Map([
  ['allow-access-authenticator', 'nothing'],
  ['auth-password-form', 'any'],
  ['auth-username-form', 'nothing'],
  ['auth-username-password-form', 'any'],
  ['auth-otp-form', secondFactor],
  ['auth-recovery-authn-code-form', secondFactor],
  ['webauthn-authenticator', secondFactor],
  [passkeyAlone, phishingResistant],
]);

/** Of a flow that the file does not have. */
const missing: Reading = { asks: 'unknown', denies: false };
/** Of a flow within itself, which lets nobody in. */
const circular: Reading = { asks: 'unknown', denies: true };

/** Reads the flows of a realm, each once. */
export function signInFlowsOf({ authenticationFlows }: Realm): SignInFlows {
  const flows = [...authenticationFlows];
  const byAlias = firstBy(flows, ({ alias }) => alias);
  const byId = firstBy(flows, ({ id }) => id);
  const read = new Map<Flow, Reading>();

  function readingOf(flow: Flow): Reading {
    const before = read.get(flow);
    if (before !== undefined) return before;
    read.set(flow, circular);
    const reading = readFlow(flow, (alias) => byAlias.get(alias), readingOf);
    read.set(flow, reading);
    return reading;
  }

  function takesPasskeys(first: Flow | undefined): boolean {
    const reached = new Set(first === undefined ? [] : [first]);
    // What is added while it is walked is walked, too.
    for (const flow of reached)
      for (const { authenticator, requirement, flowAlias } of flow.authenticationExecutions) {
        if (requirement === 'DISABLED') continue;
        if (authenticator === passkeyAlone) return true;
        const below = flowAlias === '' ? undefined : byAlias.get(flowAlias);
        if (below !== undefined) reached.add(below);
      }
    return false;
  }

  return {
    takesPasskeys: (name) => takesPasskeys(byAlias.get(name) ?? byId.get(name)),

    of(name) {
      const flow = byAlias.get(name) ?? byId.get(name);
      if (flow === undefined)
        return { policy: name === '' || name === ownFlow ? 'any' : 'unknown', denies: false };
      const { asks, denies } = readingOf(flow);
      return { policy: asks === 'nothing' ? 'unknown' : asks, denies };
    },
  };
}

function firstBy(flows: readonly Flow[], keyOf: (flow: Flow) => string): ReadonlyMap<string, Flow> {
  return new Map(flows.toReversed().map((flow) => [keyOf(flow), flow]));
}

function readFlow(
  { authenticationExecutions }: Flow,
  flowOf: (alias: string) => Flow | undefined,
  readingOf: (flow: Flow) => Reading,
): Reading {
  const asked = { needed: [] as Asked[], alternatives: [] as Asked[] };
  let denies = false;
  for (const { authenticator, requirement, flowAlias } of authenticationExecutions) {
    if (requirement === 'DISABLED' || authenticator.startsWith('conditional-')) continue;
    const below = flowAlias === '' ? undefined : flowOf(flowAlias);
    let step: Asked = steps.get(authenticator) ?? 'unknown';
    denies ||= authenticator === denial;
    if (flowAlias !== '') {
      const reading = below === undefined ? missing : readingOf(below);
      step = reading.asks;
      denies ||= reading.denies;
    }
    // OPTIONAL is of Keycloak before 8: it asks whoever has set up the factor.
    if (requirement === 'OPTIONAL' || (requirement === 'CONDITIONAL' && asksWhoHasOne(below)))
      step = 'nothing';
    if (requirement === 'ALTERNATIVE') asked.alternatives.push(step);
    else asked.needed.push(step);
  }
  if (asked.needed.length > 0) return { asks: strongest(asked.needed), denies };
  // One that is not known here, such as a cookie or another provider, is no way in here.
  const alternatives = asked.alternatives.filter((step) => step !== 'unknown' && step !== 'nothing');
  return { asks: weakest(alternatives), denies };
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
