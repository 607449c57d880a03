import type { Database } from '@tessera/stores';
import type { Kit } from '@tessera/process';
import { temporarilyUnavailable } from '@tessera/oauth';
import { auditParameter, redemptionEvents, replayEvents, settlementEvents, success } from './audit-events.ts';
import { createRevocationStore } from './revocations.postgres.ts';
import * as sql from './statements.ts';
import type {
  FamilyGrant,
  LiveFamily,
  PresentedValue,
  RedemptionRequest,
  RedemptionStore,
  RefreshStore,
  RevocationOutcome,
  RevocationRequest,
  RevocationStore,
  RotationOutcome,
  RotationRefusal,
  RotationRequest,
} from './store.ts';

type StoreKit = Pick<Kit, 'clock' | 'random'>;

/** The stores on Postgres or PGlite, in the schema `token`. */
export function createPostgresStores(
  database: Database,
  kit: StoreKit,
): { refresh: RefreshStore; redemption: RedemptionStore; revocations: RevocationStore } {
  return {
    refresh: refreshStore(database, kit),
    redemption: redemptionStore(database, kit),
    revocations: createRevocationStore(database),
  };
}

function refreshStore(database: Database, kit: StoreKit): RefreshStore {
  return {
    rotate: (request) => rotate(database, kit, request),
    async markUndelivered({ tenantId, familyId, clientId, generation, trail }) {
      const event = success('refresh.undelivered', { tenantId, clientId, grantId: familyId }, trail);
      await database.query({
        name: 'token.mark_undelivered',
        text: sql.markUndelivered,
        values: [tenantId, familyId, generation, auditParameter(kit, [event])],
      });
    },
    revoke: (request) => revoke(database, kit, request),
    async findLive(familyId, generation) {
      const { rows } = await database.query<LiveRow>({
        name: 'token.find_live',
        text: sql.findLive,
        values: [familyId, generation],
      });
      const [row] = rows;
      return row === undefined ? undefined : liveFamilyOf(row);
    },
    async purgeExpired(limit) {
      const purge = { name: 'token.purge_families', text: sql.purgeFamilies, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
  };
}

async function rotate(database: Database, kit: StoreKit, request: RotationRequest): Promise<RotationOutcome> {
  const { tenantId, familyId, clientId, generation, trail } = request;
  const key = [tenantId, familyId, clientId, generation, request.scopes, request.resources];
  const about = { tenantId, clientId, grantId: familyId };
  const rotated = await database.query<GenerationRow>({
    name: 'token.rotate',
    text: sql.rotate,
    values: [...key, request.idleSeconds, auditParameter(kit, [success('refresh.rotated', about, trail)])],
  });
  const [row] = rotated.rows;
  if (row !== undefined) return { kind: 'rotated', generation: row.generation, grant: grantOf(row) };

  const settled = await database.query<GenerationRow & { verdict: string }>({
    name: 'token.settle_rotation',
    text: sql.settleRotation,
    values: [
      ...key,
      request.retryWindowSeconds,
      auditParameter(kit, settlementEvents(about, trail)),
      request.idleSeconds,
    ],
  });
  return settlementOf(settled.rows[0]);
}

async function revoke(
  database: Database,
  kit: StoreKit,
  { familyId, owner, reason, trail }: RevocationRequest,
): Promise<RevocationOutcome> {
  const about = { grantId: familyId, ...(owner !== undefined && { clientId: owner.clientId }) };
  const event = success('token.revoked', about, reason === '' ? trail : { ...trail, details: { reason } });
  const { rows } = await database.query<{ already: boolean }>({
    name: 'token.revoke',
    text: sql.revoke,
    values: [
      familyId,
      owner?.tenantId ?? null,
      owner?.clientId ?? null,
      reason === '' ? null : reason,
      trail.ipAddress === '' ? null : trail.ipAddress,
      auditParameter(kit, [event]),
    ],
  });
  const [family] = rows;
  if (family === undefined) return 'unknown';
  return family.already ? 'already_revoked' : 'revoked';
}

function redemptionStore(database: Database, kit: StoreKit): RedemptionStore {
  return {
    redeem: (request) => redeem(database, kit, request),
    findReplay: (value) => findReplay(database, kit, value),
    async findFamily({ tenantId, kind, hash }) {
      const { rows } = await database.query<{ family_id: string | null }>({
        name: 'token.find_redemption',
        text: sql.findRedemption,
        values: [tenantId, kind, hash],
      });
      return rows[0]?.family_id;
    },
    async noteSessionEnd(tenantId, sessionId) {
      const values = [tenantId, sessionId];
      await database.query({ name: 'token.note_session_end', text: sql.noteSessionEnd, values });
    },
    async purgeSessionEnds(limit) {
      const purge = { name: 'token.purge_session_ends', text: sql.purgeSessionEnds, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
    async purgeOld(limit) {
      const purge = { name: 'token.purge_redemptions', text: sql.purgeRedemptions, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
  };
}

async function redeem(
  database: Database,
  kit: StoreKit,
  request: RedemptionRequest,
): ReturnType<RedemptionStore['redeem']> {
  const { tenantId, kind, hash, family, trail, clientId } = request;
  const about = { tenantId, clientId };
  const { rows } = await database.query<{ redeemed: number; session_ended: boolean }>({
    name: 'token.redeem',
    text: sql.redeem,
    values: [
      tenantId,
      kind,
      hash,
      clientId,
      family?.familyId ?? null,
      request.userId,
      family?.grant.scopes ?? [],
      family?.grant.resource ?? '',
      request.sessionId,
      family?.grant.issuer ?? '',
      family?.grant.authTime ?? 0,
      family?.idleSeconds ?? 0,
      family?.absoluteSeconds ?? 0,
      auditParameter(kit, redemptionEvents(kind, about, trail)),
    ],
  });
  if (rows[0]?.redeemed === 1) return 'redeemed';
  const isReplay = await findReplay(database, kit, request);
  return rows[0]?.session_ended === true && !isReplay ? 'session_ended' : 'replayed';
}

async function findReplay(
  database: Database,
  kit: StoreKit,
  { tenantId, clientId, kind, hash, trail }: PresentedValue,
): Promise<boolean> {
  const { rows } = await database.query<{ found: number }>({
    name: 'token.replay',
    text: sql.replay,
    values: [tenantId, kind, hash, auditParameter(kit, replayEvents(kind, { tenantId, clientId }, trail))],
  });
  return rows[0]?.found === 1;
}

const refusals: ReadonlySet<string> = new Set<RotationRefusal>([
  'unknown',
  'client_mismatch',
  'expired',
  'revoked',
  'resource_mismatch',
  'scope_exceeded',
  'reuse_detected',
]);

function isRefusal(verdict: string): verdict is RotationRefusal {
  return refusals.has(verdict);
}

function settlementOf(row: (GenerationRow & { verdict: string }) | undefined): RotationOutcome {
  if (row === undefined) return { kind: 'unknown' };
  if (row.verdict === 'retried') return { kind: 'retried', generation: row.generation, grant: grantOf(row) };
  if (isRefusal(row.verdict)) return { kind: row.verdict };
  // The live token was refused a moment ago and nothing that says why holds any more: the client may simply ask again.
  throw temporarilyUnavailable(new Error('a rotation found its family changed twice'));
}

interface GrantRow {
  readonly user_id: string;
  readonly scopes: string[];
  readonly resource: string;
  readonly session_id: string;
  readonly issuer: string;
  readonly auth_time: number;
}

interface GenerationRow extends GrantRow {
  readonly generation: number;
}

interface LiveRow extends GrantRow {
  readonly tenant_id: string;
  readonly client_id: string;
  readonly issued_at: number;
  readonly expires_at: number;
}

function grantOf(row: GrantRow): FamilyGrant {
  return {
    userId: row.user_id,
    scopes: row.scopes,
    resource: row.resource,
    sessionId: row.session_id,
    issuer: row.issuer,
    authTime: row.auth_time,
  };
}

function liveFamilyOf(row: LiveRow): LiveFamily {
  return {
    ...grantOf(row),
    tenantId: row.tenant_id,
    clientId: row.client_id,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
  };
}
