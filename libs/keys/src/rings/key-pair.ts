import { KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { exportJWK } from 'jose/key/export';
import { generateKeyPair } from 'jose/key/generate/keypair';
import { publicMembersOf, signingAlgorithms, type SigningAlgorithmName } from '@tessera/oauth';
import { readsAsSecret } from '@tessera/telemetry';
import type { NewKey } from '../store.ts';
import type { KeyWrapper } from './key-wrapper.ts';

/**
 * Generates a key. Off the event loop; for RS256 (at least 2048 bits, RFC 7518 §3.3) it takes about 0.1 s. About one
 * thumbprint in 6,000 has the shape of a token, and the log and the audit would hide the kid: such a key is not used.
 */
export async function generateSigningKey(
  algorithm: SigningAlgorithmName,
  wrapper: KeyWrapper,
  thumbprint = calculateJwkThumbprint,
): Promise<NewKey> {
  const { generation } = signingAlgorithms[algorithm];
  for (;;) {
    const pair = await generateKeyPair(algorithm, { ...generation, extractable: true });
    const jwk = await exportJWK(pair.publicKey);
    const kid = await thumbprint(jwk, 'sha256');
    if (readsAsSecret(kid)) continue;
    const der = KeyObject.from(pair.privateKey).export({ format: 'der', type: 'pkcs8' });
    const wrappedPrivateKey = await wrapper.wrap(kid, der);
    der.fill(0);
    return { kid, algorithm, publicMembers: publicMembersOf(algorithm, jwk), wrappedPrivateKey };
  }
}
