import { createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ClientSecrets } from './client-secrets.ts';

const secrets = new ClientSecrets(createSecretKey(Buffer.alloc(32, 1)));
const secret = 'a-secret-of-at-least-32-characters';

function stored(...values: string[]) {
  const records = values.map((value) => ({
    digest: secrets.digest('acme', 'service', value),
    expiresAt: undefined,
  }));
  return { tenantId: 'acme', secrets: records };
}

describe('client secrets', () => {
  it('match either of two valid secrets', () => {
    const both = stored('first', 'second');
    for (const clientSecret of ['first', 'second']) {
      expect(secrets.match({ clientId: 'service', clientSecret }, both)).toBeDefined();
    }
    expect(secrets.match({ clientId: 'service', clientSecret: 'third' }, both)).toBeUndefined();
  });

  it('do not match for an unknown application or one without secrets', () => {
    expect(secrets.match({ clientId: 'service', clientSecret: '' }, undefined)).toBeUndefined();
    expect(secrets.match({ clientId: 'service', clientSecret: secret }, undefined)).toBeUndefined();
    expect(secrets.match({ clientId: 'service', clientSecret: '' }, stored())).toBeUndefined();
  });

  it('have a digest bound to application, tenant and pepper', () => {
    const other = new ClientSecrets(createSecretKey(Buffer.alloc(32, 2)));
    const digests = [
      secrets.digest('acme', 'service', secret),
      secrets.digest('acme', 'other', secret),
      secrets.digest('globex', 'service', secret),
      other.digest('acme', 'service', secret),
    ];
    expect(new Set(digests).size).toBe(4);
    expect(digests.join()).not.toContain(secret);
  });
});
