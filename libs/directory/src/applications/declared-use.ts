import { declaresNothing, defaultSigningAlgorithm, isTrustDomain, type DeclaredUse } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { ApplicationRecord } from './fields.ts';

/** What an application has that makes its issuer announce more. */
interface FoundUse {
  readonly has_keys: boolean;
  readonly trusts_issuers: boolean;
  readonly trusts_domains: boolean;
  readonly has_grant: boolean;
  readonly algorithm: string;
}

/** Of the applications of each tenant that has an issuer of its own, and of all others, as ''. */
export async function readDeclaredUses(queryable: Queryable): Promise<ReadonlyMap<string, DeclaredUse>> {
  const { rows } = await queryable.query<FoundUse & { readonly owner: string }>({
    name: 'directory.declared_uses',
    text: `SELECT DISTINCT CASE WHEN t.issuer = '' THEN '' ELSE t.tenant_id END AS owner,
                  a.public_keys <> '[]' OR a.jwks_uri <> '' AS has_keys,
                  a.trusts @? '$[*].issuer ? (!(@ starts with "spiffe://"))' AS trusts_issuers,
                  a.trusts @? '$[*].issuer ? (@ starts with "spiffe://")' AS trusts_domains,
                  'jwt_bearer' = ANY(a.grant_types) AS has_grant, a.id_token_signing_algorithm AS algorithm
             FROM directory.application a JOIN directory.tenant t USING (tenant_id)
            WHERE a.public_keys <> '[]' OR a.jwks_uri <> '' OR a.trusts <> '[]' OR a.id_token_signing_algorithm <> 'RS256'`,
  });
  const owners = Map.groupBy(rows, ({ owner }) => owner);
  return new Map([...owners].map(([owner, found]) => [owner, together(found)]));
}

/** What an application makes its issuer announce, as a list that is empty if there is nothing. */
export function usesOf(record: ApplicationRecord): string[] {
  const issuers = record.trusts.map(({ issuer }) => issuer);
  const use = {
    has_keys: record.publicKeys.length > 0 || record.jwksUri !== '',
    trusts_issuers: issuers.some((issuer) => !isTrustDomain(issuer)),
    trusts_domains: issuers.some(isTrustDomain),
    has_grant: record.grantTypes.includes('jwt_bearer'),
    algorithm: record.idTokenSigningAlgorithm,
  };
  const { idTokenAlgorithms, authenticationMethods, grantTypes } = together([use]);
  return [...idTokenAlgorithms, ...authenticationMethods, ...grantTypes];
}

function together(found: readonly FoundUse[]): DeclaredUse {
  if (found.length === 0) return declaresNothing;
  const algorithms = found.map(({ algorithm }) => algorithm);
  const ifAny = (name: string, has: (use: FoundUse) => boolean) => (found.some(has) ? [name] : []);
  return {
    idTokenAlgorithms: [...new Set(algorithms)].filter((name) => name !== defaultSigningAlgorithm),
    authenticationMethods: [
      ...ifAny('private_key_jwt', (use) => use.has_keys || use.trusts_issuers),
      ...ifAny('spiffe_jwt', (use) => use.trusts_domains),
    ],
    grantTypes: ifAny('jwt_bearer', (use) => use.has_grant),
  };
}
