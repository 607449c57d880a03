import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { SecretRecord } from './declared-secrets.ts';

/** The secrets of unknown applications are compared with this; a digest is never empty. */
const unknown = { tenantId: '', digests: ['', ''] };

/**
 * Client secrets as keyed digests. They have at least 32 characters, so a fast digest with a key outside the database
 * is enough, and a token request need not wait for a password hash.
 */
export class ClientSecrets {
  readonly #pepper: KeyObject;

  constructor(pepper: KeyObject) {
    this.#pepper = pepper;
  }

  /** Bound to its application: the same secret of another application has another digest. */
  digest(tenantId: string, clientId: string, secret: string): string {
    const text = ['tessera.client_secret.v1', tenantId, clientId, secret].join('\0');
    return createHmac('sha256', this.#pepper).update(text).digest('base64url');
  }

  /**
   * The valid secret that was presented, or undefined. The time reveals neither how many there are nor how close it
   * was.
   */
  match(
    presented: { readonly clientId: string; readonly clientSecret: string },
    stored: { readonly tenantId: string; readonly secrets: readonly SecretRecord[] } | undefined,
  ): SecretRecord | undefined {
    const secrets = stored?.secrets ?? [];
    const digest = this.digest(
      stored?.tenantId ?? unknown.tenantId,
      presented.clientId,
      presented.clientSecret,
    );
    let found: SecretRecord | undefined;
    for (let index = 0; index < Math.max(secrets.length, unknown.digests.length); index += 1) {
      const candidate = secrets[index];
      if (isEqual(digest, candidate?.digest ?? '') && candidate !== undefined) found = candidate;
    }
    return found;
  }
}

function isEqual(digest: string, stored: string): boolean {
  const expected = Buffer.alloc(digest.length);
  expected.write(stored);
  return timingSafeEqual(Buffer.from(digest), expected);
}
