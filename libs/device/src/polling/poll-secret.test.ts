import { describe, expect, it } from 'vitest';
import { Secret, systemRandom } from '@tessera/kit';
import { createPollSecrets } from './poll-secret.ts';

const key = new Secret('a-mark-key-of-at-least-32-characters');
const holder = { tenantId: 'acme', clientId: 'acme-tv' };

describe('what clients poll with', () => {
  it.each([
    ['without a mark', undefined, 32],
    ['with one', key, 48],
  ])('is 32 random bytes, %s', (_what, secret, length) => {
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

  it('is known by its mark for the kind, the tenant and the client it was given to', () => {
    const secrets = createPollSecrets(key, systemRandom);
    const value = secrets.create('auth_req_id', holder);
    expect(secrets.wasGiven('auth_req_id', value, holder)).toBe(true);
    expect(secrets.wasGiven('device_code', `td_${value.slice(3)}`, holder)).toBe(false);
    expect(secrets.wasGiven('auth_req_id', value, { ...holder, tenantId: 'umbra' })).toBe(false);
    expect(secrets.wasGiven('auth_req_id', value, { ...holder, clientId: 'acme-box' })).toBe(false);
    expect(secrets.wasGiven('auth_req_id', value, { tenantId: 'acme\0acme-tv', clientId: '' })).toBe(false);
  });

  it('is known by every bit of the mark and of what it marks', () => {
    const secrets = createPollSecrets(key, systemRandom);
    const bytes = Buffer.from(secrets.create('device_code', holder).slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(secrets.wasGiven('device_code', `td_${changed.toString('base64url')}`, holder)).toBe(false);
    }
  });

  it('is not known without a mark, nor without the key', () => {
    const without = createPollSecrets(undefined, systemRandom);
    const secrets = createPollSecrets(key, systemRandom);
    const [bare, marked] = [without.create('device_code', holder), secrets.create('device_code', holder)];
    for (const value of [bare, marked]) expect(without.wasGiven('device_code', value, holder)).toBe(false);
    expect(secrets.wasGiven('device_code', bare, holder)).toBe(false);
    expect(secrets.wasGiven('device_code', marked.slice(0, 46), holder)).toBe(false);
  });
});
