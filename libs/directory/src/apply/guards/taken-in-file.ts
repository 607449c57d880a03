import type { Problem } from '../../declared/declared-state-error.ts';
import type { ReadState } from '../../declared/read.ts';
import type { DeclaredTenant } from '../../declared/schema.ts';
import { claimedValues, heldValues, type ClaimedValues } from '../../plans/claimed-values.ts';
import type { TenantPlan } from '../../plans/plan.ts';
import { audienceOfEntry } from '@tessera/oauth';
import {
  audienceOfOthers,
  clientIdAndAudience,
  isSameAudience,
  otherSpelling,
  sharedAudience,
  spelledTwice,
  takenElsewhere,
} from '../../resources/checks.ts';
import { keyOfTrust, trustOfOurs, trustTaken } from '../../applications/trusts.ts';
import type { TakenValue } from '../../store/store.ts';
import { normalizeIdentifier } from '../../users/identifiers.ts';
import { namesOf, sharedNames } from '../../users/preferred-names.ts';
import { problemsOfSubjects } from './taken-subjects.ts';

/**
 * The problems that the plans of a file have with one another, and with the records of their tenants.
 * @param taken what each of them claims and another stored tenant has, in their order
 */
export function problemsOfPlans(
  read: ReadState,
  plans: readonly TenantPlan[],
  taken: readonly (readonly TakenValue[])[] = [],
): Problem[] {
  const takenHere = takenInFile(plans);
  return plans.flatMap((plan, index) => {
    const tenant = read.state.tenants[index];
    if (tenant === undefined) return [];
    const values = [...(taken[index] ?? []), ...(takenHere[index] ?? []), ...trustedTwice(plan)];
    return [...newProblems(read, tenant, plan), ...takenProblems(read, tenant, values)];
  });
}

/** What each plan of a file claims and another one of it has, by tenant. If both claim it, the later one takes it. */
function takenInFile(plans: readonly TenantPlan[]): TakenValue[][] {
  const tenants = plans.map((plan) => ({ claimed: claimedValues(plan), held: heldValues(plan.desired) }));
  return tenants.map(({ claimed }, index) =>
    tenants.flatMap((other, place) => {
      if (place === index) return [];
      // What the later one claims is told there.
      return place < index ? between(claimed, other.held) : between(claimed, without(other));
    }),
  );
}

/** What a tenant has and does not claim. */
function without({ claimed, held }: { readonly claimed: ClaimedValues; readonly held: ClaimedValues }) {
  const audiences = new Set(claimed.audiences.map(({ audience }) => audience));
  return {
    clientIds: except(held.clientIds, claimed.clientIds),
    audiences: held.audiences.filter(({ audience }) => !audiences.has(audience)),
    jwtAudiences: except(held.jwtAudiences, claimed.jwtAudiences),
    sharedIssuer: {
      clientIds: except(held.sharedIssuer.clientIds, claimed.sharedIssuer.clientIds),
      audiences: except(held.sharedIssuer.audiences, claimed.sharedIssuer.audiences),
    },
  };
}

function except(all: readonly string[], some: readonly string[]): string[] {
  return all.filter((value) => !some.includes(value));
}

/**
 * What cannot be of both. Client IDs and issuers are compared with the stored ones alone: those of other tenants are
 * not free before.
 */
function between(claimed: ClaimedValues, held: Omit<ClaimedValues, 'issuer' | 'trusts'>): TakenValue[] {
  const audiences = claimed.audiences.filter(({ audience, shared }) =>
    held.audiences.some((other) => isSameAudience(other.audience, audience) && !(shared && other.shared)),
  );
  return [
    ...audiences.map(({ audience: value }): TakenValue => ({ kind: 'audience', value })),
    ...[
      ...common(claimed.clientIds, held.jwtAudiences),
      ...common(claimed.sharedIssuer.clientIds, held.sharedIssuer.audiences),
    ].map((value): TakenValue => ({ kind: 'clientIdAsAudience', value })),
    ...[
      ...common(claimed.jwtAudiences, held.clientIds),
      ...common(claimed.sharedIssuer.audiences, held.sharedIssuer.clientIds),
    ].map((value): TakenValue => ({ kind: 'audienceAsClientId', value })),
  ];
}

/** What an application of the plan trusts, and one of the tenant that stays as it is. */
function trustedTwice({ applications, desired }: TenantPlan): TakenValue[] {
  const put = new Set([...applications.created, ...applications.updated.map(({ after }) => after)]);
  const others = desired.applications.filter((application) => !put.has(application));
  const kept = new Set(others.flatMap(({ trusts }) => trusts.map(keyOfTrust)));
  return [...put]
    .flatMap(({ trusts }) => trusts.map(keyOfTrust))
    .filter((value) => kept.has(value))
    .map((value) => ({ kind: 'trust', value }));
}

function common(claimed: readonly string[], held: readonly string[]): string[] {
  return claimed.filter((value) => held.includes(value));
}

/** A client ID or an issuer identifies its tenant; tokens of one issuer are told apart by their audience. */
export function takenProblems(
  read: ReadState,
  tenant: DeclaredTenant,
  taken: readonly TakenValue[],
): Problem[] {
  const path = ['tenants', read.state.tenants.indexOf(tenant)];
  const unique = new Map(taken.map((value) => [`${value.kind} ${value.value}`, value]));
  return [...unique.values()].map(({ kind, value }) => {
    if (kind === 'trust' || kind === 'trustOfOurs') {
      const index = tenant.applications.findIndex(({ trusts }) =>
        trusts.some((one) => keyOfTrust(one) === value),
      );
      const place = tenant.applications[index]?.trusts.findIndex((one) => keyOfTrust(one) === value) ?? -1;
      return read.problem(
        [...path, 'applications', index, 'trusts', place],
        kind === 'trust' ? trustTaken : trustOfOurs,
      );
    }
    if (kind === 'issuer') return read.problem([...path, 'issuer'], takenElsewhere);
    if (kind === 'audience' || kind === 'audienceAsClientId') {
      const index = tenant.resources.findIndex(({ audience }) => audience === value);
      const message = kind === 'audience' ? sharedAudience : clientIdAndAudience;
      // Of another owner: it comes to the shared issuer with the tenant.
      if (index === -1)
        return read.problem([...path, 'issuer'], `the audience ${value} of the tenant ${message}`);
      return read.problem([...path, 'resources', index, 'audience'], message);
    }
    const index = tenant.applications.findIndex(({ clientId }) => clientId === value);
    const message = kind === 'clientId' ? takenElsewhere : clientIdAndAudience;
    // Of another owner: it comes to the shared issuer with the tenant.
    if (index === -1)
      return read.problem([...path, 'issuer'], `the client id ${value} of the tenant ${message}`);
    return read.problem([...path, 'applications', index, 'clientId'], message);
  });
}

/**
 * The audiences that a plan creates and the tenant has in the other spelling, or its applications have, the people who
 * get names of others, and subjects of tokens that are somebody else's, for all owners.
 */
export function newProblems(read: ReadState, tenant: DeclaredTenant, plan: TenantPlan): Problem[] {
  const { resources, users, desired } = plan;
  const audiences = (records: readonly { readonly audience: string }[]) =>
    records.map(({ audience }) => audience);
  const names = namesOf(desired.users);
  const changed = [...users.created.map((after) => ({ before: undefined, after })), ...users.updated];
  const ofPeople = changed.flatMap(({ before, after }) =>
    sharedNames(before, after, names).map(({ key, message }) => {
      const name = normalizeIdentifier(after.username);
      const index = tenant.users.findIndex(({ username }) => normalizeIdentifier(username) === name);
      return read.problem(['tenants', read.state.tenants.indexOf(tenant), 'users', index, key], message);
    }),
  );
  const ofAudience = (audience: string, message: string) => {
    const index = audiences(tenant.resources).indexOf(audience);
    return read.problem(
      ['tenants', read.state.tenants.indexOf(tenant), 'resources', index, 'audience'],
      message,
    );
  };
  const ofAudiences = [
    ...spelledTwice(audiences(resources.created), audiences(desired.resources)).map((audience) =>
      ofAudience(audience, otherSpelling),
    ),
    ...resources.created.flatMap((resource) => {
      const { audience } = resource;
      const having = desired.applications.filter((application) =>
        application.audiences.map(audienceOfEntry).includes(audience),
      );
      const message = audienceOfOthers(resource, having);
      return message === undefined ? [] : [ofAudience(audience, message)];
    }),
  ];
  return [...ofAudiences, ...ofPeople, ...problemsOfSubjects(read, tenant, plan)];
}
