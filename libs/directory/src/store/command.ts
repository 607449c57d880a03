import { endingFields, type EndingKind } from '../apply/impact/ending-fields.ts';
import { snakeCase } from '../fields/columns.ts';

const nextSecond = 'floor(extract(epoch FROM clock_timestamp()))::bigint + 1';

/** SQL: the latest `valid_from` of a tenant and its applications. */
const ofTenant = (tenantId: string): string => `
  greatest((SELECT t.valid_from FROM directory.tenant t WHERE t.tenant_id = ${tenantId}),
           (SELECT max(a.valid_from) FROM directory.application a WHERE a.tenant_id = ${tenantId}))`;

/**
 * SQL: the value of `valid_from` of a person after a change now. A sign-in is dated by the latest of person, tenant and application, which
 * may be ahead of the clock, so each change goes beyond them all: a sign-in between two changes in one second does not outlive the second.
 * @param row has `tenant_id`
 */
export const personValidFrom = (row: string, present = `${row}.valid_from`): string =>
  `greatest(${present} + 1, ${ofTenant(`${row}.tenant_id`)} + 1, ${nextSecond})`;

/**
 * SQL: the same of a tenant or an application, where anybody may have signed in. Such changes are rare, so they may read all people.
 * @param tenantId SQL
 */
export const tenantValidFrom = (tenantId: string): string =>
  `greatest(${ofTenant(tenantId)} + 1, ${nextSecond},
            (SELECT max(p.valid_from) + 1 FROM directory.user_account p WHERE p.tenant_id = ${tenantId}))`;

/** SQL: where a field that ends what was issued differs from the row that is overwritten, that ends with this change. */
export function validFromAfter(kind: EndingKind, then: string): string {
  const changed = endingFields[kind].map(
    (field) => `present.${snakeCase(field)} IS DISTINCT FROM excluded.${snakeCase(field)}`,
  );
  return `CASE WHEN ${changed.join(' OR ')} THEN ${then} ELSE present.valid_from END`;
}

/** Runs a statement of a tenant, whose id is its first value. */
export type Write = (name: string, text: string, ...values: unknown[]) => Promise<unknown>;

/** A change of records of one kind in a tenant. However many they are, it takes one statement per table. */
export type Command = (write: Write) => Promise<void>;
