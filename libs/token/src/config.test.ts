import { loadConfig } from '@tessera/process';
import { describe, expect, it } from 'vitest';
import { tokenConfig } from './config.ts';

const keys = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const load = (settings: Record<string, string>) => {
  const environment = { TESSERA_TOKEN_REFRESH_KEYS: keys, ...settings };
  return loadConfig(tokenConfig, environment, { known: Object.keys(environment) });
};

describe('the settings of the token service', () => {
  it('have the documented defaults', () => {
    expect(load({})).toMatchObject({
      TESSERA_ACCESS_TOKEN_TTL: 600,
      TESSERA_ID_TOKEN_TTL: 600,
      TESSERA_REFRESH_TOKEN_IDLE_TTL: 30 * 86_400,
      TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL: 90 * 86_400,
      TESSERA_REFRESH_RETRY_WINDOW: 30,
    });
  });

  it.each(['TESSERA_ACCESS_TOKEN_TTL', 'TESSERA_ID_TOKEN_TTL'])(
    'refuse a fraction of a second in %s, which tokens and answers cannot carry (RFC 6749 §5.1, RFC 7519 §2)',
    (name) => {
      expect(() => load({ [name]: '1500ms' })).toThrow(`${name}: expected whole seconds`);
      expect(load({ [name]: '2s' })).toHaveProperty(name, 2);
    },
  );

  it('accept a retry window from 0 to 60 seconds (R14)', () => {
    expect(load({ TESSERA_REFRESH_RETRY_WINDOW: '0s' }).TESSERA_REFRESH_RETRY_WINDOW).toBe(0);
    expect(load({ TESSERA_REFRESH_RETRY_WINDOW: '60s' }).TESSERA_REFRESH_RETRY_WINDOW).toBe(60);
    expect(() => load({ TESSERA_REFRESH_RETRY_WINDOW: '61s' })).toThrow('TESSERA_REFRESH_RETRY_WINDOW');
  });

  it('need keys for refresh tokens, and never print them', () => {
    expect(() => load({ TESSERA_TOKEN_REFRESH_KEYS: '' })).toThrow('TESSERA_TOKEN_REFRESH_KEYS');
    const short = `1:${Buffer.alloc(16, 7).toString('base64')}`;
    expect(() => load({ TESSERA_TOKEN_REFRESH_KEYS: short })).toThrow('TESSERA_TOKEN_REFRESH_KEYS');
    expect(JSON.stringify(load({}))).not.toContain(keys.slice(2, 20));
  });
});
