import { mailCodeAlone } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { PersonId } from './person-id.ts';

/** With what a person begins a sign-in. An app and recovery codes only complete one. */
export type WayIn = 'password' | 'passkey' | 'provider' | 'mail_code';

/** What is not counted: a passkey by its credential ID, or what a person has at a provider. */
export interface WithoutWay {
  readonly passkey?: string;
  readonly provider?: string;
}

/**
 * SQL: the ways in of the person `u`, once they are active, as an array. It is the only place that knows what lets
 * somebody in: a password, a passkey, or an identity at a provider that the tenant has, with the issuer that proved it;
 * one that was removed lets nobody in; or an e-mail address, where the tenant signs people in by a code alone. What a
 * policy of the tenant asks for besides is set up at the sign-in, so no policy takes a way in away.
 * @param without SQL of values that are not counted, null for none
 */
export function waysIn(u: string, without: WithoutWay = {}): string {
  const { passkey = 'NULL', provider = 'NULL' } = without;
  const of = (row: string) => `${row}.tenant_id = ${u}.tenant_id AND ${row}.user_id = ${u}.user_id`;
  return `array_remove(ARRAY[
    CASE WHEN ${u}.password_hash IS NOT NULL THEN 'password' END,
    CASE WHEN EXISTS (SELECT FROM directory.passkey wk
                       WHERE ${of('wk')} AND wk.credential_id IS DISTINCT FROM ${passkey}) THEN 'passkey' END,
    CASE WHEN EXISTS (SELECT FROM directory.provider_identity wi
                        JOIN directory.provider wp
                          ON wp.tenant_id = wi.tenant_id AND wp.name = wi.provider AND wp.issuer = wi.issuer
                       WHERE ${of('wi')} AND wi.provider IS DISTINCT FROM ${provider}) THEN 'provider' END,
    CASE WHEN ${u}.email <> '' AND (SELECT '${mailCodeAlone}' = ANY(wt.sign_in_methods) FROM directory.tenant wt
                       WHERE wt.tenant_id = ${u}.tenant_id) THEN 'mail_code' END], NULL)`;
}

/** SQL: whether the person `u` has no way in. */
export function hasNoWayIn(u: string): string {
  return `cardinality(${waysIn(u)}) = 0`;
}

/** SQL: whether the person `u` may sign in at all: they and their tenant `t` are active. */
export function areActive(u: string, t: string): string {
  return `(${u}.status = 'active' AND ${t}.status = 'active')`;
}

/**
 * SQL: whether a sign-in of the person `u` still counts: they may sign in, and nothing ended it since.
 * @param authTime SQL of seconds since the Unix epoch
 */
export function signInCounts(u: string, t: string, authTime: string): string {
  return `(${areActive(u, t)} AND greatest(${u}.valid_from, ${t}.valid_from) <= ${authTime})`;
}

/**
 * SQL: whether the link `l` to a password is still good: it has its time, and nothing of the person `u` or the tenant
 * `t` ended since.
 */
export function isOpenLink(l: string, u: string, t: string): string {
  return `(${l}.expires_at > clock_timestamp() AND ${l}.valid_from = greatest(${u}.valid_from, ${t}.valid_from))`;
}

/**
 * With what a person can sign in once they are active, and could without some of it; nothing for one who is unknown. In
 * a transaction that has their row it stays so until the commit, but for providers, which a change of the tenant
 * removes.
 */
export async function waysInOf(
  database: Queryable,
  { tenantId, userId }: PersonId,
  { passkey, provider }: WithoutWay = {},
): Promise<readonly WayIn[]> {
  const { rows } = await database.query<{ ways: WayIn[] }>({
    name: 'directory.ways_in_of_person',
    text: `SELECT ${waysIn('u', { passkey: '$3::text', provider: '$4::text' })} AS ways
             FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId, passkey ?? null, provider ?? null],
  });
  return rows[0]?.ways ?? [];
}
