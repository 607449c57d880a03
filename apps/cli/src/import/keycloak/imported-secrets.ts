import type { Entry } from '../files/imported.ts';
import type { Client } from './realm.ts';

/** What the declared state asks for, in characters. */
const shortestSecret = 32;

const howTo =
  'make a longer one in Keycloak and import again, or use tessera secret create --take-over after the last import';

interface Secrets {
  readonly declared: readonly Entry[];
  /** Why the application comes disabled. */
  readonly reasons: readonly string[];
}

/** Stands where a server is to put a value in, such as `${env.X}` and `$(env:X)`. */
export const placeholder = /\$[({]/;

/** The last second that a declared time can name: that of the year 9999, since the Unix epoch. */
const latest = 253_402_300_799;

/** The secret of a client. One that cannot come is replaced by one that has expired, as there must be one. */
export function secretsOf({ clientId, publicClient, secret, attributes }: Client): Secrets {
  const expires = Number(attributes['client.secret.expiration.time'] ?? 0);
  if (publicClient) return { declared: [], reasons: [] };
  // The console exports asterisks.
  const isMissing = /^\**$/.test(secret) || placeholder.test(secret);
  const reasons: string[] = [];
  if (isMissing) reasons.push('its secret is not in the file; export with kc.sh');
  else if (secret.length < shortestSecret)
    reasons.push(`its secret has fewer than ${shortestSecret} characters; ${howTo}`);
  if (!Number.isSafeInteger(expires) || expires > latest) reasons.push('the end of its secret is no time');
  if (reasons.length > 0) {
    const value = `no secret of ${clientId} `.padEnd(shortestSecret, '-').slice(0, 256);
    return { declared: [{ value, expiresAt: '1970-01-01T00:00:00Z' }], reasons };
  }
  const expiresAt = expires > 0 ? { expiresAt: new Date(expires * 1000).toISOString() } : {};
  return { declared: [{ value: secret, ...expiresAt }], reasons: [] };
}
