import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { adminScopes, isAssignable } from '@tessera/oauth';
import {
  Code,
  ConnectError,
  notUnderstood,
  type CallOptions,
  type DescMethod,
  type Principal,
} from '@tessera/rpc';
import { carryingDocument } from './declared-plans.ts';
import { askedKinds, refuseKinds } from './declared-kinds.ts';
import type { Assignables, Assigned } from './assignable-records.ts';
import type { Carry, DescribePlan, Fields, RefuseUnheld, Send } from './carry.ts';
import {
  givenBy,
  holds,
  isAttribute,
  refuseToEndAdministration,
  refuseUnheld,
  said,
  type NamedGift,
} from './gifts.ts';
import type { Gift } from './gift.ts';
import { requireOwners, writerFor, writesAsAnybody } from './owners.ts';
import { serviceRules, type Effect, type ServiceRule } from './what-is-given.ts';

/** A method whose requests may give something. */
export interface Guarded {
  /** Makes the call. */
  readonly send: Send;
  /** Reads the record that a request is about, as it is; undefined for a service without records of its own. */
  readonly read: Send | undefined;
  /** Reads which attributes of people the applications of a tenant are told of as claims. Throws ConnectError. */
  readonly attributesInClaims: (tenantId: string, call: CallOptions) => Promise<ReadonlySet<string>>;
  /** Reads which records of a tenant have what is given. Throws ConnectError. */
  readonly assignablesOf: (
    tenantId: string,
    given: ReadonlySet<Assigned>,
    call: CallOptions,
  ) => Promise<Assignables>;
  /** Reads the issuer that a tenant has of its own; empty without one. Throws ConnectError. */
  readonly issuerOf: (tenantId: string, call: CallOptions) => Promise<string>;
  /** Tells what a document would do; absent for a service that takes none. */
  readonly describePlan?: DescribePlan | undefined;
}

const attempts = 5;

/**
 * Nobody gives what they do not hold, and nobody changes someone or something that holds more of the administration
 * than they do. What is compared is what the request adds to the record as it is; the change then names that version,
 * so that nothing slips in between.
 * @throws Error for a method with side effects that the table does not have, or that changes a record at any version
 */
export function carrying(method: DescMethod, { send, read, describePlan, ...looks }: Guarded): Carry {
  const { rule, effect } = ruleOf(method);
  const hasWriter = method.input.fields.some(({ localName }) => localName === 'owner');
  const asWriter = (request: Fields, principal: Principal): Fields =>
    hasWriter ? { ...request, owner: writerFor(ownerOf(request), principal) } : request;
  const refuse = refusing(looks);
  const refuseOf = async (
    gifts: readonly Gift[],
    request: Fields,
    principal: Principal,
    call: () => CallOptions,
  ) =>
    refuse(
      gifts.map((gift) => ({ gift, of: `${rule.record}.`, owner: ownerOf(request) })),
      request['tenantId'],
      principal,
      call,
    );
  if (effect === 'reads kinds') {
    return async (request, principal, call) => {
      const { kinds = [] } = request as { readonly kinds?: readonly string[] };
      refuseKinds(askedKinds(kinds), 'read', principal);
      return send(request, call());
    };
  }
  if (effect === 'declares') {
    if (describePlan === undefined)
      throw new Error(`${method.parent.typeName} has nothing that describes a plan`);
    return judgedAgain(rule, carryingDocument({ send, describePlan, refuse }));
  }
  if (effect === 'reads' || effect === 'acts') {
    return async (request, principal, call) => {
      if (effect === 'acts') refuseWithout(rule.alsoNeeds?.(request) ?? [], principal);
      return send(request, call());
    };
  }
  if (effect === 'gives') {
    return async (asked, principal, call) => {
      const request = asWriter(asked, principal);
      await refuseOf(
        givenBy(undefined, giftsIn(rule, request), () => false),
        request,
        principal,
        call,
      );
      return send(request, call());
    };
  }
  if (effect === 'restores') {
    return judgedAgain(rule, async (request, principal, call) => {
      // Nobody reads what was deleted one by one: the check of the request answers with all that it would give.
      const restored = await send({ ...request, validateOnly: true }, call());
      const owner = ownerOf(restored);
      requireOwners([owner], principal);
      await refuseOf(rule.gifts(restored as never, said), { ...request, owner }, principal, call);
      const { etag = '' } = restored as { readonly etag?: string };
      if (etag === '') throw notUnderstood('a restored record without a version');
      return send({ ...request, etag }, call());
    });
  }
  if (read === undefined)
    throw new Error(`${method.parent.typeName} has no method that reads what ${method.name} changes`);
  if (!method.input.fields.some(({ localName }) => [rule.record, 'etag'].includes(localName)))
    throw new Error(`${method.parent.typeName}/${method.name} names no version of what it changes`);
  return judgedAgain(rule, async (asked, principal, call) => {
    const request = asWriter(asked, principal);
    if (rule.changesAll?.(request) === true) refuseLessThanAll(principal);
    const { tenantId, [rule.record]: record } = request;
    refuseToEndAdministration(rule, method.localName, { tenantId, record }, principal);
    const present = await read(keyOf(rule, request), call());
    const isForAll = rule.forEveryOwner?.includes(method.localName) === true;
    if (!isForAll && ownerOf(present) !== request['owner']) requireOwners([ownerOf(present)], principal);
    const isTaken = (gift: Gift) => isWritten(rule, request, gift);
    // To whom an application is bound follows from several fields, of which the request may have one.
    const isBinding = ({ field }: Gift) => field === 'owners';
    const has = [
      ...giftsIn(rule, request).filter((gift) => !isBinding(gift)),
      ...giftsAfter(rule, request, present).filter(isBinding),
    ];
    const given = givenBy(rule.gifts(present as never, said), has, isTaken);
    await refuseOf(given, request, principal, call);
    return send(atVersion(rule, request, String(present['etag'])), call());
  });
}

/**
 * Refuses gifts that somebody does not hold, but for attributes that nobody is told of, and what the records of others
 * let them assign.
 */
function refusing({
  attributesInClaims,
  assignablesOf,
  issuerOf,
}: Pick<Guarded, 'attributesInClaims' | 'assignablesOf' | 'issuerOf'>): RefuseUnheld {
  return async (gifts, tenantId, principal, call) => {
    // Who is bound to owners gives nothing of the records of others, whatever scopes they hold.
    const isDoubtful = ({ gift }: NamedGift) =>
      !holds(principal, gift) || (gift.assigns !== undefined && !writesAsAnybody(principal));
    const doubtful = gifts.filter(isDoubtful);
    // Most administrators hold it, and most requests are about no attribute.
    const inClaims = doubtful.some(({ gift }) => isAttribute(gift))
      ? await attributesInClaims(String(tenantId), call())
      : new Set<string>();
    const assigned = new Set(doubtful.flatMap(({ gift }) => gift.assigns ?? []));
    const recordOf = assigned.size > 0 ? await assignablesOf(String(tenantId), assigned, call()) : undefined;
    const isShared =
      doubtful.some(({ gift }) => gift.atSharedIssuer) && (await issuerOf(String(tenantId), call())) === '';
    const unheld = doubtful.flatMap((named) => {
      const { gift, owner } = named;
      if (isAttribute(gift)) return inClaims.has(gift.what) ? [named] : [];
      if (gift.atSharedIssuer) return isShared ? [named] : [];
      if (gift.assigns === undefined) return [named];
      const record = recordOf?.(gift.assigns, gift.what);
      // The directory refuses what no record has, but for what the same document declares.
      if (record === undefined) return gift.own === true || holds(principal, gift) ? [] : [named];
      const owned = { ...gift, owner: record.owner };
      return isAssignable(record, owner) || holds(principal, owned) ? [] : [{ ...named, gift: owned }];
    });
    refuseUnheld(unheld, principal);
  };
}

/** Judges a request again if what it is about has changed meanwhile, unless it names the version itself. */
function judgedAgain(rule: ServiceRule, once: Carry): Carry {
  return async (request, principal, call) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(request, principal, call);
      } catch (error) {
        const changedMeanwhile = error instanceof ConnectError && error.code === Code.Aborted;
        if (!changedMeanwhile || etagOf(rule, request) !== '' || attempt === attempts) throw error;
      }
    }
  };
}

function ruleOf(method: DescMethod): { readonly rule: ServiceRule; readonly effect: Effect } {
  const rule = serviceRules.get(method.parent.typeName);
  const reads =
    method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS && rule?.everyKind !== true;
  const effect = rule?.effects[method.localName] ?? (reads ? 'reads' : undefined);
  if (rule === undefined || effect === undefined)
    throw new Error(`${method.parent.typeName}/${method.name}: what-is-given.ts does not say what it gives`);
  return { rule, effect };
}

function refuseLessThanAll(principal: Principal): void {
  const { scopes = [] } = principal;
  requireOwners(['*'], principal);
  const lacking = [...adminScopes.keys()].filter((scope) => !scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new ConnectError(
    `This is about records of every kind: it needs an access token with ${lacking.join(', ')} too. A person with fewer roles changes one record at a time.`,
    Code.PermissionDenied,
  );
}

function refuseWithout(needed: readonly string[], { scopes = [] }: Principal): void {
  const lacking = needed.filter((scope) => !scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new ConnectError(
    `This is about everybody: it needs an access token with ${lacking.join(', ')} too. Name a person, or one grant.`,
    Code.PermissionDenied,
  );
}

/** Whose a record is, or as whom a request writes. */
function ownerOf(of: Fields): string {
  const { owner = '' } = of as { readonly owner?: string };
  return owner;
}

/** The gifts of the record in a request, whatever its mask says: fields that it does not change may be left out. */
function giftsIn(rule: ServiceRule, request: Fields): readonly Gift[] {
  const record = request[rule.record];
  if (record === undefined) return [];
  const { paths = [] } = (request['updateMask'] ?? {}) as { readonly paths?: readonly string[] };
  return rule.gifts(record as never, (field) => paths.includes(field) || paths.includes('*'));
}

/** The gifts of the record as it is after the request, as far as its fields of one word are concerned. */
function giftsAfter(rule: ServiceRule, request: Fields, present: Fields): readonly Gift[] {
  const record = (request[rule.record] ?? {}) as Fields;
  const { paths = [] } = (request['updateMask'] ?? {}) as { readonly paths?: readonly string[] };
  const isSaid = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '';
  const written = Object.entries(record).filter(([field, value]) =>
    paths.length === 0 ? isSaid(value) : paths.includes(field) || paths.includes('*'),
  );
  return rule.gifts({ ...present, ...Object.fromEntries(written) } as never, said);
}

/** Whether a request says what a record has of a gift. */
function isWritten(rule: ServiceRule, request: Fields, { field, what }: Gift): boolean {
  const record = request[rule.record] as Fields | undefined;
  if (record === undefined) return false;
  const { paths = [] } = (request['updateMask'] ?? {}) as { readonly paths?: readonly string[] };
  return paths.length === 0
    ? record[field] !== undefined
    : paths.some((path) => ['*', field, `${field}.${what}`].includes(path));
}

/** The request for the record that a request is about. */
function keyOf(rule: ServiceRule, request: Fields): Fields {
  const record = request[rule.record] as Fields | undefined;
  return { tenantId: request['tenantId'], [rule.key]: request[rule.key] ?? record?.[rule.key] ?? '' };
}

function etagOf(rule: ServiceRule, request: Fields): unknown {
  const record = request[rule.record] as Fields | undefined;
  return (record ?? request)['etag'] ?? '';
}

/** The request for that version of the record alone. Throws Aborted if it is for another one. */
function atVersion(rule: ServiceRule, request: Fields, etag: string): Fields {
  const asked = etagOf(rule, request);
  if (asked !== '' && asked !== etag)
    throw new ConnectError(`The ${rule.record} has changed since it was read. Read it again.`, Code.Aborted);
  const record = request[rule.record] as Fields | undefined;
  return record === undefined ? { ...request, etag } : { ...request, [rule.record]: { ...record, etag } };
}
