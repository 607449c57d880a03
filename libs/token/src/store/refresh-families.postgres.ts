import type { Database } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { auditParameter, success } from './audit-events.ts';
import { rotateRefreshToken } from './rotate-refresh-token.postgres.ts';
import { auditFamily, isOfSession, recordRevocations, timeColumns, type TimesRow } from './sql-fragments.ts';
import type { LiveFamily, RefreshStore, RevocationOutcome, RevocationRequest } from './store.ts';
import { grantColumns, grantOf, type GrantRow } from './grant-columns.ts';

/**
 * A response with the live generation was not delivered. If no other response has delivered it, everything of the
 * rotation is undone except the generation number. $1 tenant, $2 family, $3 generation, $4 audit
 */
const recordUndeliveredSql = `
  WITH updated AS (
    UPDATE token.refresh_family
    SET hand_outs = GREATEST(hand_outs - 1, 0),
        undelivered = hand_outs <= 1,
        rotated_at = CASE WHEN hand_outs <= 1 THEN COALESCE(previous_rotated_at, rotated_at) ELSE rotated_at END,
        idle_expires_at = CASE WHEN hand_outs <= 1
          THEN COALESCE(previous_idle_expires_at, idle_expires_at) ELSE idle_expires_at END
    WHERE tenant_id = $1 AND family_id = $2::uuid AND generation = $3::int AND revoked_at IS NULL
    RETURNING tenant_id, family_id, user_id, session_id, undelivered
  ), audited AS (${auditFamily('updated', '$4', 'undelivered')})
  SELECT count(*)::int AS updated FROM updated`;

/** $1 family, $2 tenant or null, $3 client or null, $4 reason, $5 address, $6 audit */
const revokeSql = `
  WITH family AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource, revoked_at
    FROM token.refresh_family
    WHERE family_id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR client_id = $3)
    FOR UPDATE
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'revoked', revoked_reason = $4, revoked_by_ip = $5
    FROM family AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id AND s.revoked_at IS NULL
  ), ${recordRevocations('family', 'revoked_at IS NULL')}, audited AS (${auditFamily('family', '$6', 's.revoked_at IS NULL')})
  SELECT (revoked_at IS NOT NULL) AS already FROM family`;

/**
 * As long as the live generation was not delivered, the client holds its predecessor, which a refresh accepts.
 * $1 family, $2 generation
 */
const findLiveSql = `
  SELECT ${grantColumns}, ${timeColumns}
  FROM token.refresh_family
  WHERE family_id = $1::uuid AND revoked_at IS NULL
    AND (generation = $2::int OR (undelivered AND generation = $2::int + 1))
    AND idle_expires_at > clock_timestamp() AND absolute_expires_at > clock_timestamp()`;

/** $1 tenant, $2 family, $3 client, $4 generation */
const sessionOfSql = `
  SELECT session_id FROM token.refresh_family
  WHERE tenant_id = $1 AND family_id = $2::uuid AND client_id = $3 AND generation <= $4::int + 1
    AND revoked_at IS NULL AND LEAST(idle_expires_at, absolute_expires_at) > clock_timestamp() AND ${isOfSession}`;

/** $1 tenant, $2 family, $3 client */
const endOfSql = `
  SELECT CASE WHEN ${isOfSession} THEN session_id END AS ends_with FROM token.refresh_family
  WHERE tenant_id = $1 AND family_id = $2::uuid AND client_id = $3`;

/** $1 family */
const issuerOfSql = 'SELECT issuer FROM token.refresh_family WHERE family_id = $1::uuid';

/** $1 tenant, $2 owner and $3 family after which to continue, $4 limit */
const liveSql = (owner: 'user_id' | 'client_id', owners: string) => `
  SELECT family_id, ${owner} AS owner_id, ${grantColumns}, jsonb_build_object(
      'created', round(extract(epoch FROM created_at) * 1000), 'used', round(extract(epoch FROM rotated_at) * 1000),
      'expires', round(extract(epoch FROM idle_expires_at) * 1000)) AS times
  FROM token.refresh_family
  WHERE tenant_id = $1 ${owners} AND revoked_at IS NULL
    AND idle_expires_at > clock_timestamp() AND absolute_expires_at > clock_timestamp()
    AND (${owner}, family_id) > ($2::text, $3::uuid)
  ORDER BY ${owner}, family_id LIMIT $4::int`;
const liveOfTenantSql = liveSql('user_id', '');
/** $5 people */
const liveOfPeopleSql = liveSql('user_id', 'AND user_id = ANY($5::text[])');
/** $5 applications */
const liveOfClientsSql = liveSql('client_id', 'AND client_id = ANY($5::text[])');

/** $1 limit. By the absolute expiry only: with an index on the idle expiry every rotation would write an index. */
const purgeExpiredSql = `
  DELETE FROM token.refresh_family
  WHERE (tenant_id, family_id) IN (
    SELECT tenant_id, family_id FROM token.refresh_family
    WHERE absolute_expires_at < statement_timestamp() - interval '1 day'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

type StoreRuntime = Pick<Runtime, 'clock' | 'random'>;

/** The refresh families on Postgres or PGlite. */
export function createRefreshStore(database: Database, runtime: StoreRuntime): RefreshStore {
  return {
    async sessionOf({ tenantId, familyId, clientId, generation }) {
      const values = [tenantId, familyId, clientId, generation];
      const find = { name: 'token.session_of_family', text: sessionOfSql, values };
      return (await database.query<{ session_id: string }>(find)).rows[0]?.session_id;
    },
    async endOf({ tenantId, familyId, clientId }) {
      const find = { name: 'token.end_of_family', text: endOfSql, values: [tenantId, familyId, clientId] };
      const [row] = (await database.query<{ ends_with: string | null }>(find)).rows;
      return row === undefined ? undefined : { endsWith: row.ends_with ?? undefined };
    },
    rotate: (request) => rotateRefreshToken(database, runtime, request),
    async recordUndelivered({ tenantId, familyId, clientId, generation, trail }) {
      const event = success('refresh.undelivered', { tenantId, clientId, grantId: familyId }, trail);
      await database.query({
        name: 'token.record_undelivered',
        text: recordUndeliveredSql,
        values: [tenantId, familyId, generation, auditParameter(runtime, [event])],
      });
    },
    revoke: (request) => revoke(database, runtime, request),
    async issuerOf(familyId) {
      const find = { name: 'token.issuer_of_family', text: issuerOfSql, values: [familyId] };
      return (await database.query<{ issuer: string }>(find)).rows[0]?.issuer;
    },
    async findLive(familyId, generation) {
      const { rows } = await database.query<LiveRow>({
        name: 'token.find_live',
        text: findLiveSql,
        values: [familyId, generation],
      });
      const [row] = rows;
      return row === undefined ? undefined : liveFamilyOf(row);
    },
    async live({ tenantId, userIds, clientIds }, { ownerId, familyId }, limit) {
      const values = [tenantId, ownerId, familyId, limit];
      const { rows } = await database.query<FoundRow>(
        userIds !== undefined
          ? { name: 'token.live_of_people', text: liveOfPeopleSql, values: [...values, userIds] }
          : clientIds !== undefined
            ? { name: 'token.live_of_clients', text: liveOfClientsSql, values: [...values, clientIds] }
            : { name: 'token.live_of_tenant', text: liveOfTenantSql, values },
      );
      return rows.map((row) => ({
        familyId: row.family_id,
        ownerId: row.owner_id,
        grant: grantOf(row),
        createdAt: row.times.created,
        usedAt: row.times.used,
        expiresAt: row.times.expires,
      }));
    },
    async purgeExpired(limit) {
      const purge = { name: 'token.purge_families', text: purgeExpiredSql, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
  };
}

async function revoke(
  database: Database,
  runtime: StoreRuntime,
  { familyId, owner, reason, trail }: RevocationRequest,
): Promise<RevocationOutcome> {
  const about = { grantId: familyId, ...(owner?.clientId !== undefined && { clientId: owner.clientId }) };
  const event = success('token.revoked', about, reason === '' ? trail : { ...trail, details: { reason } });
  const { rows } = await database.query<{ already: boolean }>({
    name: 'token.revoke',
    text: revokeSql,
    values: [
      familyId,
      owner?.tenantId ?? null,
      owner?.clientId ?? null,
      reason === '' ? null : reason,
      trail.ipAddress === '' ? null : trail.ipAddress,
      auditParameter(runtime, [event]),
    ],
  });
  const [family] = rows;
  if (family === undefined) return 'unknown';
  return family.already ? 'already_revoked' : 'revoked';
}

interface FoundRow extends GrantRow {
  readonly family_id: string;
  readonly owner_id: string;
  readonly times: { readonly created: number; readonly used: number; readonly expires: number };
}

interface LiveRow extends GrantRow, TimesRow {}

function liveFamilyOf(row: LiveRow): LiveFamily {
  return { grant: grantOf(row), issuedAt: row.issued_at, expiresAt: row.expires_at };
}
