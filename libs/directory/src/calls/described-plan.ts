import type { KeyObject } from 'node:crypto';
import { isGivenUserId } from '@tessera/oauth';
import { create, invalidFields } from '@tessera/rpc';
import { PlannedRecordSchema, type PlannedRecord } from '@tessera/proto-gen/plan';
import { administrationOf } from '../apply/guards/administration-guard.ts';
import { touchedBy, type DeclaredPlan, type TouchedRecord } from '../apply/touched-records.ts';
import { valuesOf } from '../fields/field.ts';
import { recordKinds, type Kind, type RecordOf, type StandardKind } from '../record-kinds.ts';
import { providerFields, type ProviderRecord } from '../providers/fields.ts';
import { requestDigest } from '../records/request-digest.ts';
import { messageOfApplication } from './forms/application-form.ts';
import { messageOfStandard } from './standard-calls.ts';
import { messageOfTenant } from './tenant-calls.ts';
import { messageOfUser } from './forms/user-form.ts';

function isMade(record: object): boolean {
  return !('userId' in record) || !isGivenUserId(String(record.userId));
}

/**
 * How the administration API gets the records of kinds that have more than the standard calls, without what only the
 * server sets.
 */
const messages = {
  tenant: (record) => messageOfTenant({ record }),
  provider: ({ name, owner, issuer, clientId, roleMappings, attributeMappings }) => ({
    name,
    owner,
    roles: roleMappings.map(({ role }) => role),
    // Another issuer says it of other people.
    roleSources: roleMappings.map(({ claim, value }) => JSON.stringify([issuer, clientId, claim, value])),
    attributes: Object.fromEntries(
      Object.entries(attributeMappings).map(([attribute, claim]) => [
        attribute,
        JSON.stringify([issuer, clientId, claim]),
      ]),
    ),
  }),
  user: (record) => messageOfUser({ record }),
  application: (record) => messageOfApplication({ record }),
} as const satisfies { readonly [K in Exclude<Kind, StandardKind>]: (record: RecordOf[K]) => object };

/** Throws InvalidArgument for a kind that there is not. */
export function requireKinds(kinds: readonly string[], field = 'kinds'): ReadonlySet<string> {
  const unknown = kinds.filter((kind) => !Object.hasOwn(recordKinds, kind));
  if (unknown.length > 0)
    throw invalidFields([{ field, description: `must be of ${Object.keys(recordKinds).join(', ')}` }]);
  return new Set(kinds);
}

/** What a plan touches and gives, as messages of PlanService. */
export function describedPlan(planned: DeclaredPlan) {
  const touched = touchedBy(planned);
  return {
    changes: touched.map(({ kind, name, before, after }) => ({
      name,
      ...(before && { before: recordMessage(kind, before) }),
      ...(after && { after: recordMessage(kind, after) }),
    })),
    powers: powersOfOthers(planned, touched),
  };
}

function recordMessage(kind: Kind, record: RecordOf[Kind]): PlannedRecord {
  const planned = { case: kind, value: messageOf(kind, record) };
  return create(PlannedRecordSchema, { record: planned as NonNullable<PlannedRecord['record']> });
}

function messageOf(kind: Kind, record: RecordOf[Kind]): object {
  const { [kind as Exclude<Kind, StandardKind>]: own } = messages as Partial<typeof messages>;
  if (own === undefined) return messageOfStandard(kind as StandardKind, { record });
  return (own as (of: typeof record) => object)(record);
}

/**
 * The powers that a plan gives to records which stay as they are. Those of others are in their changes, whatever they
 * are given by: here a new password or secret would show that the declared one is not the present one.
 */
function powersOfOthers({ plan }: DeclaredPlan, touched: readonly TouchedRecord[]) {
  const names = new Set(touched.map(({ kind, name }) => `${kind} ${name}`));
  return administrationOf(plan)
    .filter(({ kind, name }) => !names.has(`${kind} ${name}`))
    .map(({ by: _, ...given }) => given);
}

/**
 * Of what a plan would change, but for passwords and secrets: it must not tell whether these differ. The same in every
 * process.
 */
export function etagOf(planned: DeclaredPlan, pepper: KeyObject): string {
  const touched = touchedBy(planned);
  const changes = touched
    .map((record) => ({ ...record, ...contentsOf(record) }))
    .toSorted((left, right) => (`${left.kind} ${left.name}` < `${right.kind} ${right.name}` ? -1 : 1));
  return requestDigest(pepper, { changes, powers: powersOfOthers(planned, touched) }).toString('base64url');
}

/** A person who is created gets another identifier each time, unless they are given one. */
function contentsOf({ kind, before, after }: TouchedRecord) {
  const contentOf = (record: RecordOf[Kind]): object =>
    kind === 'provider'
      ? { ...valuesOf(providerFields, record as ProviderRecord), owner: record.owner }
      : messageOf(kind, record);
  return {
    before: before && contentOf(before),
    after: after && { ...contentOf(after), ...(before === undefined && isMade(after) && { userId: '' }) },
  };
}
