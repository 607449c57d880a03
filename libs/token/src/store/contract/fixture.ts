import { systemClock, systemRandom } from '@tessera/kit';
import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import { type Database } from '@tessera/stores';
import { newFamilyId } from '../../refresh-token-format.ts';
import { createPostgresStores } from '../store.postgres.ts';
import type { RotationRequest, Trail } from '../store.ts';

/** A database with the stores on it, and the means of a test to move time and to look at what was written. */
export interface Bench extends ReturnType<typeof createPostgresStores> {
  /** A family of its own, started by a code. */
  start(
    overrides?: Partial<{
      idleSeconds: number;
      absoluteSeconds: number;
      grant: UserGrant;
      sessionId: string;
    }>,
  ): Promise<Started>;
  /** A family that was ended by a second redemption of its code; resolves with its id. */
  startAgain(): Promise<string>;
  /** Lets time pass for one family: moves every time of it into the past. */
  elapse(familyId: string, seconds: number): Promise<void>;
  /** Names of the audit events of one family, in order. */
  events(familyId: string): Promise<string[]>;
  audit(familyId: string, event: string): Promise<Record<string, unknown>[]>;
  revokedReason(familyId: string): Promise<unknown>;
  /** Leaves a family as version 0.1 stores it. */
  forgetUserGrant(familyId: string): Promise<void>;
}

export interface Started {
  readonly familyId: string;
  /** The rotation of a generation by the owner, changed where given. */
  request(generation: number, overrides?: Partial<RotationRequest>): RotationRequest;
}

export const trail: Trail = { requestId: 'a-request', ipAddress: '192.0.2.7' };
export const owner = { tenantId: 'acme', clientId: 'web' } as const;
export const retryWindow = 30;

export const grant = create(UserGrantSchema, {
  ...owner,
  userId: 'u1',
  scopes: ['openid', 'offline_access', 'orders.read', 'orders.write'],
  resource: 'https://orders.acme.example',
  sessionId: 'session-1',
  issuer: 'https://id.example',
  authentication: { time: 1_700_000_000, methods: ['pwd'] },
  userinfoClaims: ['name'],
  idTokenClaims: ['email', 'name'],
});

/** An access token with a `jti` of its own. */
export function newAccessToken() {
  return { tokenId: systemRandom.bytes(16).toString('base64url'), audience: grant.resource };
}

export function bench(database: Database): Bench {
  const stores = createPostgresStores(database, { clock: systemClock, random: systemRandom });
  const rows = (name: string, text: string, values: unknown[]) =>
    database.query<Record<string, unknown>>({ name: `test.${name}`, text, values });
  return {
    ...stores,
    async start({ sessionId = 'session-1', ...overrides } = {}) {
      const familyId = newFamilyId(systemRandom);
      await stores.redemption.redeem({
        ...owner,
        userId: 'u1',
        sessionId,
        kind: 'authorization_code',
        hash: systemRandom.bytes(32),
        family: { familyId, grant, idleSeconds: 3600, absoluteSeconds: 7200, ...overrides },
        accessToken: newAccessToken(),
        trail,
      });
      return {
        familyId,
        request: (generation, changed = {}) => ({
          ...owner,
          familyId,
          generation,
          scopes: [],
          resources: [],
          idleSeconds: 3600,
          retryWindowSeconds: retryWindow,
          sessionLives: false,
          trail,
          ...changed,
        }),
      };
    },
    async startAgain() {
      const familyId = newFamilyId(systemRandom);
      const request = {
        ...owner,
        userId: 'u1',
        sessionId: 'session-1',
        kind: 'authorization_code' as const,
        hash: systemRandom.bytes(32),
        family: { familyId, grant, idleSeconds: 3600, absoluteSeconds: 7200 },
        accessToken: newAccessToken(),
        trail,
      };
      for (let time = 0; time < 3; time += 1) await stores.redemption.redeem(request);
      return familyId;
    },
    async elapse(familyId, seconds) {
      await rows(
        'elapse',
        `UPDATE token.refresh_family
         SET rotated_at = rotated_at - make_interval(secs => $2::float8),
             previous_rotated_at = previous_rotated_at - make_interval(secs => $2::float8),
             previous_idle_expires_at = previous_idle_expires_at - make_interval(secs => $2::float8),
             created_at = created_at - make_interval(secs => $2::float8),
             idle_expires_at = idle_expires_at - make_interval(secs => $2::float8),
             absolute_expires_at = absolute_expires_at - make_interval(secs => $2::float8)
         WHERE family_id = $1::uuid`,
        [familyId, seconds],
      );
    },
    async events(familyId) {
      const text = `SELECT event FROM token.audit_event WHERE record ->> 'grantId' = $1 ORDER BY recorded_at, event_id`;
      return (await rows('events', text, [familyId])).rows.map((row) => String(row['event']));
    },
    async audit(familyId, event) {
      const text = `SELECT tenant_id, outcome, reason, record FROM token.audit_event
                    WHERE record ->> 'grantId' = $1 AND event = $2`;
      return (await rows('audit', text, [familyId, event])).rows;
    },
    async forgetUserGrant(familyId) {
      const text = 'UPDATE token.refresh_family SET user_grant = NULL WHERE family_id = $1::uuid';
      await rows('forget_user_grant', text, [familyId]);
    },
    async revokedReason(familyId) {
      const text = 'SELECT revoked_reason FROM token.refresh_family WHERE family_id = $1::uuid';
      return (await rows('revoked_reason', text, [familyId])).rows[0]?.['revoked_reason'];
    },
  };
}
