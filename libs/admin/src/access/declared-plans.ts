import { isDeepStrictEqual } from 'node:util';
import { adminRoles, adminScopes } from '@tessera/oauth';
import type { DescribePlanResponse, PlannedChange, PlannedPowers } from '@tessera/proto-gen/plan';
import { Code, ConnectError, notUnderstood } from '@tessera/rpc';
import type { Carry, DescribePlan, RefuseUnheld, Send } from './carry.ts';
import { declaredKinds, refuseKinds, writableKinds } from './declared-kinds.ts';
import { requireOwners, writesAsAnybody } from './owners.ts';
import {
  givenBy,
  holdsEverything,
  isAttribute,
  refuseToEndAdministration,
  said,
  type NamedGift,
} from './gifts.ts';

interface Guarding {
  readonly send: Send;
  readonly describePlan: DescribePlan;
  readonly refuse: RefuseUnheld;
}

/**
 * Carries out requests with a document, if its plan touches no kind that the administrator has no scope for, and gives
 * nothing that they do not hold: what a plan gives is judged as what a call gives. Throws Aborted if the plan is
 * another one by then.
 */
export function carryingDocument({ send, describePlan, refuse }: Guarding): Carry {
  return async (asking, principal, call) => {
    if (holdsEverything(principal)) return send(asking, call());
    // Whose a value is, who reaches one tenant must not learn.
    const mayCompare = principal.everyTenant === true || !('otherTenants' in asking);
    const request = mayCompare ? asking : { ...asking, otherTenants: [] };
    const { tenantId, document, owner, takeOver, fileName, etag: asked = '' } = request;
    const { keptKinds, deletedUsers, otherTenants } = request;
    const part = { tenantId, document, owner, takeOver, fileName, keptKinds, deletedUsers, otherTenants };
    const about = { ...part, kinds: writableKinds(principal) };
    const { kinds, changes, powers, owner: writer, etag } = await described(describePlan(about, call()));
    const planned = changes.map(plannedChange);
    refuseKinds([...kinds, ...planned.map(({ kind }) => kind)], 'write', principal);
    if (!writesAsAnybody(principal)) {
      if (writer === '') throw notUnderstood('a plan without an owner');
      requireOwners([writer, ...planned.flatMap(ownerLeft)], principal);
    }
    for (const { kind, after } of planned)
      if (kind === 'tenant')
        refuseToEndAdministration(ruleOf(kind), 'update', { tenantId, record: after }, principal);
    const gifts = [...planned.flatMap(giftsOf), ...powers.map(giftOfPowers)];
    await refuse(gifts, tenantId, principal, call);
    if (etag === '') throw notUnderstood('a plan without a version');
    if (asked !== '' && asked !== etag) throw otherPlan();
    const answer = await send('etag' in request ? { ...request, etag } : request, call());
    // What was compared may be another plan than the one that was judged.
    const compared = answer['etag'] ?? '';
    if (compared !== '' && compared !== etag) throw otherPlan();
    return answer;
  };
}

function otherPlan(): ConnectError {
  return new ConnectError('It would change something else than was compared. Compare again.', Code.Aborted);
}

async function described(
  parts: AsyncIterable<DescribePlanResponse>,
): Promise<Pick<DescribePlanResponse, 'kinds' | 'changes' | 'powers' | 'owner' | 'etag'>> {
  const plan = {
    kinds: [] as string[],
    changes: [] as PlannedChange[],
    powers: [] as PlannedPowers[],
    owner: '',
    etag: '',
  };
  for await (const { kinds, changes, powers, owner, etag } of parts) {
    plan.kinds.push(...kinds);
    plan.changes.push(...changes);
    plan.powers.push(...powers);
    plan.owner ||= owner;
    plan.etag ||= etag;
  }
  return plan;
}

interface Planned {
  readonly kind: string;
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

function plannedChange({ name, before, after }: PlannedChange): Planned {
  const records = [before, after].flatMap((record) => record?.record ?? []);
  const [kind, ...others] = new Set(records.map((record) => record.case));
  if (kind === undefined || others.length > 0) throw notUnderstood('a change of a plan');
  return { kind, name, before: before?.record.value, after: after?.record.value };
}

/** Whose record changes hands, is deleted, or would not change, but perhaps by a password that is tried. */
function ownerLeft({ before, after }: Planned): string[] {
  const isKept = ownerOf(before) === ownerOf(after) && !isDeepStrictEqual(before, after);
  return before === undefined || isKept ? [] : [ownerOf(before)];
}

function ownerOf(record: unknown): string {
  return (record as { readonly owner?: string } | undefined)?.owner ?? '';
}

function ruleOf(kind: string) {
  const rule = declaredKinds.get(kind)?.rule;
  if (rule === undefined) throw notUnderstood(`the kind of record ${kind}`);
  return rule;
}

function giftsOf({ kind, name, before, after }: Planned): NamedGift[] {
  const rule = ruleOf(kind);
  const of = (record: unknown) => (record === undefined ? [] : rule.gifts(record as never, said));
  const isKept = after !== undefined;
  const had = before === undefined ? undefined : of(before);
  return givenBy(had, of(after), (gift) => isKept && isAttribute(gift)).map((gift) => ({
    gift,
    of: `${kind} ${name}: `,
    owner: ownerOf(after ?? before),
  }));
}

/**
 * What somebody gets by another way in than before, or from another issuer, is given too. An unknown power is every
 * one.
 */
function giftOfPowers({ kind, name, powers }: PlannedPowers): NamedGift {
  const scopes = powers.flatMap((power) => [
    ...(adminRoles.get(power) ?? (adminScopes.has(power) ? [power] : adminScopes.keys())),
  ]);
  const field = kind === 'user' ? 'roles' : 'scopes';
  const gift = { field, what: powers.join(', '), scopes: [...new Set(scopes)], owner: '*' };
  return { gift, of: `${kind} ${name}: `, owner: '' };
}
