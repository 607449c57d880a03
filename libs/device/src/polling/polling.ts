import { hash as digestOf } from 'node:crypto';
import { OAuthError } from '@tessera/oauth';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { PollSecrets } from './poll-secret.ts';
import type { GrantStore } from '../store/grant-store.ts';
import type { GrantKind } from '../pending-grant.ts';
import type { DecisionStore } from '../store/decision-store.ts';

export interface Poll {
  /** The device_code or auth_req_id, as the client sent it. */
  readonly secret: string;
  readonly clientId: string;
  readonly tenantId: string;
}

export interface Approved {
  readonly grant: UserGrant;
  /** Key of the redemption marker in `token`. */
  readonly secretHash: Buffer;
}

/**
 * One poll of an authenticated client (RFC 8628 §3.5, CIBA Core §11). Resolves with the approval on every poll until it
 * expires, because the redemption marker of `token` decides which poll counts. Throws `authorization_pending`,
 * `slow_down`, `access_denied`, `expired_token`, and the same `invalid_grant` for every value that is not this
 * client's.
 */
export type Polling = (kind: GrantKind, poll: Poll) => Promise<Approved>;

export function createPolling({
  store,
  decisions,
  secrets,
}: {
  readonly store: Pick<GrantStore, 'poll'>;
  readonly decisions: Pick<DecisionStore, 'confirm'>;
  readonly secrets: Pick<PollSecrets, 'hasShape' | 'wasIssued'>;
}): Polling {
  return async (kind, { secret, ...client }) => {
    // A value of another kind is not looked up, so it is not consumed either (CVE-2026-4282).
    if (!secrets.hasShape(kind, secret)) throw invalidGrant('malformed');
    const secretHash = digestOf('sha256', secret, 'buffer');
    const hash = secretHash.toString('hex');
    const verdict = await store.poll(kind, hash, client);
    switch (verdict) {
      case 'pending':
        throw new OAuthError('authorization_pending', 'The person has not decided yet.');
      case 'slow_down':
        throw new OAuthError('slow_down', 'Polling is too fast. Wait five seconds longer from now on.');
      case 'denied':
        throw denied();
      case 'expired':
        throw expired();
      case 'other_client':
        throw invalidGrant(verdict);
      // Redis may have lost a committed decision.
      case 'unknown':
      case 'approved': {
        const confirmed = await decisions.confirm(kind, hash, client);
        // An approval without a committed decision does not count. An issued value that is lost or long expired can no
        // longer be approved: the device starts again.
        if (confirmed === undefined) {
          const wasIssued = verdict === 'approved' || secrets.wasIssued(kind, secret, client);
          throw wasIssued ? expired() : invalidGrant(verdict);
        }
        if (confirmed.decision === 'denied') throw denied();
        return { grant: confirmed.grant, secretHash };
      }
    }
  };
}

function denied(): OAuthError {
  return new OAuthError('access_denied', 'The request was denied.');
}

function expired(): OAuthError {
  return new OAuthError('expired_token', 'The request has expired. Start again.');
}

function invalidGrant(cause: string): OAuthError {
  return new OAuthError('invalid_grant', 'The grant is not valid.', { cause: new Error(cause) });
}
