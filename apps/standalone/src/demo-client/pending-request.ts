import { createHash } from 'node:crypto';
import type { Random } from '@tessera/kit';

/** What the demo client sent with an authorization request, for when it is called back. */
export interface PendingRequest {
  readonly verifier: string;
  readonly nonce: string;
  readonly challenge: string;
}

export function pendingRequest(random: Random): PendingRequest {
  const verifier = random.bytes(32).toString('base64url');
  return {
    verifier,
    nonce: random.bytes(32).toString('base64url'),
    challenge: createHash('sha256').update(verifier).digest('base64url'),
  };
}
