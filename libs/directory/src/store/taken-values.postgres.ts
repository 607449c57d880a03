import { uriSpellings } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import { isKept } from '../deleted/deleted-records.postgres.ts';
import { claimsNothing, type ClaimedValues } from '../plans/claimed-values.ts';
import { isSameAudience } from '../resources/checks.ts';
import type { TakenValue } from './store.ts';

/** Which of the values other tenants have, or the deployment itself. */
export async function takenValues(
  queryable: Queryable,
  tenantId: string,
  claimed: ClaimedValues,
  besides: {
    /** Whose APIs and applications do not count. */
    readonly tenants?: readonly string[];
    readonly sharedIssuer?: string | undefined;
  } = {},
): Promise<TakenValue[]> {
  if (claimsNothing(claimed)) return [];
  const { clientIds, issuer, audiences, jwtAudiences, sharedIssuer, trusts } = claimed;
  const { rows } = await queryable.query<TakenValue>({
    name: 'directory.taken_values',
    text: `SELECT 'clientId' AS kind, client_id AS value FROM directory.application
            WHERE client_id = ANY($2::text[]) AND tenant_id <> $1
            UNION
           SELECT 'clientId', id FROM directory.deleted_record
            WHERE kind = 'application' AND id = ANY($2::text[]) AND tenant_id <> $1 AND ${isKept}
            UNION ALL
           SELECT 'issuer', issuer FROM directory.tenant
            WHERE issuer <> '' AND split_part(issuer, '//', 2) = split_part($3, '//', 2) AND tenant_id <> $1
            UNION ALL
           SELECT DISTINCT 'audience', r.audience
             FROM directory.api_resource r
             JOIN directory.tenant t ON t.tenant_id = r.tenant_id
            WHERE r.audience = ANY($4::text[]) AND NOT (r.shared AND r.audience = ANY($7::text[]))
              AND t.issuer = '' AND t.tenant_id <> $1 AND t.tenant_id <> ALL($5::text[])
            UNION ALL
           SELECT DISTINCT 'clientIdAsAudience', r.audience
             FROM directory.api_resource r
             JOIN directory.tenant t ON t.tenant_id = r.tenant_id
            WHERE (r.audience = ANY($2::text[]) AND r.token_type = 'JWT' OR r.audience = ANY($8::text[]) AND t.issuer = '')
              AND t.tenant_id <> $1 AND t.tenant_id <> ALL($5::text[])
            UNION ALL
           SELECT 'audienceAsClientId', a.client_id
             FROM directory.application a
             JOIN directory.tenant t ON t.tenant_id = a.tenant_id
            WHERE (a.client_id = ANY($6::text[]) OR a.client_id = ANY($9::text[]) AND t.issuer = '')
              AND t.tenant_id <> $1 AND t.tenant_id <> ALL($5::text[])
            UNION ALL
           SELECT 'trust', claimed.value
             FROM unnest($10::text[]) AS claimed(value)
             JOIN directory.trusted_subject s ON s.issuer = claimed.value::jsonb ->> 0
              AND s.subject = claimed.value::jsonb ->> 1 AND s.audience = claimed.value::jsonb ->> 2
            WHERE NOT (s.tenant_id = $1 AND s.client_id = ANY($11::text[]))
            UNION ALL
           SELECT 'trustOfOurs', claimed.value
             FROM unnest($10::text[]) AS claimed(value),
                  LATERAL (SELECT claimed.value::jsonb ->> 0 AS issuer, claimed.value::jsonb ->> 2 AS audience) AS c
            WHERE $12 <> '' AND $12 IN (c.issuer, c.audience)
               OR EXISTS (SELECT FROM directory.tenant o WHERE o.issuer <> '' AND split_part(o.issuer, '//', 2)
                            IN (split_part(c.issuer, '//', 2), split_part(c.audience, '//', 2)))
            ORDER BY kind, value`,
    values: [
      tenantId,
      clientIds,
      issuer,
      audiences.flatMap(({ audience }) => uriSpellings(audience)),
      besides.tenants ?? [],
      jwtAudiences,
      audiences.filter(({ shared }) => shared).flatMap(({ audience }) => uriSpellings(audience)),
      sharedIssuer.clientIds,
      sharedIssuer.audiences,
      trusts.keys,
      trusts.of,
      besides.sharedIssuer ?? '',
    ],
  });
  // Which of ours it is, if that of the other tenant is in the other spelling.
  const ours = (value: string) =>
    audiences.map(({ audience }) => audience).filter((audience) => isSameAudience(audience, value));
  return rows.flatMap(({ kind, value }) =>
    (kind === 'audience' ? ours(value) : [value]).map((taken) => ({ kind, value: taken })),
  );
}
