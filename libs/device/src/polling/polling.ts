import { hash as digestOf } from 'node:crypto';
import { OAuthError } from '@tessera/oauth';
import type { PollSecrets } from './poll-secret.ts';
import type { ApprovedGrant, DecisionStore, GrantKind, GrantStore } from '../store/store.ts';

export interface Poll {
  /** The device_code or auth_req_id, as the client sent it. */
  readonly secret: string;
  readonly clientId: string;
  readonly tenantId: string;
}

export interface Approved {
  readonly grant: ApprovedGrant;
  /** Key of the redemption marker in `token`. */
  readonly secretHash: Buffer;
}

/**
 * One poll of an authenticated client (RFC 8628 §3.5, CIBA Core §11). Answers the approval, again each time while it
 * lives, because the durable marker of `token` decides which one counts. Throws `authorization_pending`, `slow_down`,
 * `access_denied`, `expired_token`, `unauthorized_client` for what is pushed, and one and the same `invalid_grant` for what is not this client's.
 */
export type Polling = (kind: GrantKind, poll: Poll) => Promise<Approved>;

export function createPolling({
  store,
  decisions,
  secrets,
}: {
  readonly store: Pick<GrantStore, 'poll'>;
  readonly decisions: Pick<DecisionStore, 'confirm'>;
  readonly secrets: Pick<PollSecrets, 'hasShape' | 'wasGiven'>;
}): Polling {
  return async (kind, { secret, ...client }) => {
    // Another kind of value is not looked up at all, so it is not consumed either (CVE-2026-4282).
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
      case 'pushed':
        throw new OAuthError('unauthorized_client', 'The tokens of this request are pushed.');
      case 'expired':
        throw expired();
      case 'other_client':
        throw invalidGrant(verdict);
      // Redis may have forgotten what was decided durably.
      case 'unknown':
      case 'approved': {
        const confirmed = await decisions.confirm(kind, hash, client);
        // What is approved in Redis alone was never approved, and what was given and is lost, or long over, cannot be any
        // more: the device starts again.
        if (confirmed === undefined) {
          const wasGiven = verdict === 'approved' || secrets.wasGiven(kind, secret, client);
          throw wasGiven ? expired() : invalidGrant(verdict);
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
