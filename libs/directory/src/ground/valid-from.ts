const nextSecond = 'floor(extract(epoch FROM clock_timestamp()))::bigint + 1';

/** SQL: the latest `valid_from` of a tenant and its applications. */
const ofTenant = (tenantId: string): string => `
  greatest((SELECT t.valid_from FROM directory.tenant t WHERE t.tenant_id = ${tenantId}),
           (SELECT max(a.valid_from) FROM directory.application a WHERE a.tenant_id = ${tenantId}))`;

/**
 * SQL: the value of `valid_from` of a person after a change now. A sign-in is dated by the latest of person, tenant and
 * application, which may be ahead of the clock, so each change goes beyond them all: a sign-in between two changes in
 * one second does not outlive the second.
 * @param row has `tenant_id`
 */
export const personValidFrom = (row: string, present = `${row}.valid_from`): string =>
  `greatest(${present} + 1, ${ofTenant(`${row}.tenant_id`)} + 1, ${nextSecond})`;

/**
 * SQL: the same of a tenant or an application, where anybody may have signed in. Such changes are rare, so they may
 * read all people.
 * @param tenantId SQL
 */
export const tenantValidFrom = (tenantId: string): string =>
  `greatest(${ofTenant(tenantId)} + 1, ${nextSecond},
            (SELECT max(p.valid_from) + 1 FROM directory.user_account p WHERE p.tenant_id = ${tenantId}))`;
