import { createHash } from 'node:crypto';
import type { Random } from '@tessera/kit';

/** Values of an authorization request that the demo client needs again at the callback. */
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
