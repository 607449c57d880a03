import { describe, expect, it } from 'vitest';
import { Secret, systemRandom } from '@tessera/kit';
import { createPollSecrets } from './poll-secret.ts';

const key = new Secret('an-hmac-key-of-at-least-32-characters');
const holder = { tenantId: 'acme', clientId: 'acme-tv' };

describe('device codes and auth_req_ids', () => {
  it.each([
    ['without a MAC', undefined, 32],
    ['with a MAC', key, 48],
  ])('have 32 random bytes, %s', (_what, secret, length) => {
    const secrets = createPollSecrets(secret, systemRandom);
    const values = Array.from({ length: 50 }, () => secrets.create('device_code', holder));
    const random = values.map((value) =>
      Buffer.from(value.slice(3), 'base64url').subarray(0, 32).toString('hex'),
    );
    expect(new Set(random).size).toBe(50);
    for (const value of values) {
      expect(value.startsWith('td_')).toBe(true);
      expect(Buffer.from(value.slice(3), 'base64url')).toHaveLength(length);
      expect(secrets.hasShape('device_code', value)).toBe(true);
      expect(secrets.hasShape('auth_req_id', value)).toBe(false);
    }
  });

  it('have a MAC over kind, tenant and client', () => {
    const secrets = createPollSecrets(key, systemRandom);
    const value = secrets.create('auth_req_id', holder);
    expect(secrets.wasIssued('auth_req_id', value, holder)).toBe(true);
    expect(secrets.wasIssued('device_code', `td_${value.slice(3)}`, holder)).toBe(false);
    expect(secrets.wasIssued('auth_req_id', value, { ...holder, tenantId: 'umbra' })).toBe(false);
    expect(secrets.wasIssued('auth_req_id', value, { ...holder, clientId: 'acme-box' })).toBe(false);
    expect(secrets.wasIssued('auth_req_id', value, { tenantId: 'acme\0acme-tv', clientId: '' })).toBe(false);
  });

  it('fail the check when any bit changes', () => {
    const secrets = createPollSecrets(key, systemRandom);
    const bytes = Buffer.from(secrets.create('device_code', holder).slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(secrets.wasIssued('device_code', `td_${changed.toString('base64url')}`, holder)).toBe(false);
    }
  });

  it('fail the check without a MAC or without the key', () => {
    const without = createPollSecrets(undefined, systemRandom);
    const secrets = createPollSecrets(key, systemRandom);
    const [bare, withMac] = [without.create('device_code', holder), secrets.create('device_code', holder)];
    for (const value of [bare, withMac]) expect(without.wasIssued('device_code', value, holder)).toBe(false);
    expect(secrets.wasIssued('device_code', bare, holder)).toBe(false);
    expect(secrets.wasIssued('device_code', withMac.slice(0, 46), holder)).toBe(false);
  });
});
