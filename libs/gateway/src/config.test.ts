import { describe, expect, it } from 'vitest';
import { loadConfig } from '@tessera/process';
import { gatewayConfig } from './config.ts';
import { insecureSettings } from './endpoints/trusted-callers.ts';

const load = (environment: Record<string, string>) => loadConfig(gatewayConfig, environment);

describe('gatewayConfig', () => {
  it('has safe defaults: no trusted proxy, callers from loopback and private networks, local hosts', () => {
    const config = load({});
    expect(config.TESSERA_TRUSTED_PROXIES.isEmpty).toBe(true);
    expect(config.TESSERA_TRUSTED_CALLERS.contains('127.0.0.1')).toBe(true);
    expect(config.TESSERA_TRUSTED_CALLERS.contains('203.0.113.9')).toBe(false);
    expect(config.TESSERA_ALLOWED_HOSTS).toEqual(['localhost', '127.0.0.1', '[::1]']);
    expect(config.TESSERA_PROFILE).toBe('contract');
    expect(config.TESSERA_HTTP_PORT).toBe(8080);
  });

  it.each([
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/8,0.0.0.0/0',
    '::/1,8000::/1',
    '0.0.0.0/1,128.0.0.0/1',
    '0.0.0.0/1,128.0.0.0/2,192.0.0.0/3',
    '2000::/3',
    'loopback,2000::/4,3000::/4',
    '::/2,4000::/2,8000::/1',
    'garbage',
    '10.0.0.0/99',
  ])('refuses the trusted proxies %j and names the setting', (value) => {
    expect(() => load({ TESSERA_TRUSTED_PROXIES: value })).toThrow(/TESSERA_TRUSTED_PROXIES/);
  });

  it.each([
    '10.0.0.0/8,192.168.0.0/16',
    '0.0.0.0/1',
    '128.0.0.0/1',
    '2001:db8::/32,fc00::/7',
    '2000::/4',
    'none',
  ])('accepts the trusted proxies %j', (value) => {
    expect(() => load({ TESSERA_TRUSTED_PROXIES: value })).not.toThrow();
  });

  it.each([
    'https://id.example.com/',
    'https://id.example.com/path',
    'https://id.example.com?x=1',
    'https://ID.example.com',
    'https://id.example.com:443',
    'https://user@id.example.com',
    'ftp://id.example.com',
    'id.example.com',
  ])('refuses the issuer %j', (issuer) => {
    expect(() => load({ TESSERA_ISSUER: issuer })).toThrow(/TESSERA_ISSUER/);
  });

  it('refuses a fraction of a second for the max-age of the key set (RFC 9111 §1.2.2)', () => {
    expect(() => load({ TESSERA_JWKS_MAX_AGE: '1500ms' })).toThrow(
      'TESSERA_JWKS_MAX_AGE: expected whole seconds',
    );
    expect(load({ TESSERA_JWKS_MAX_AGE: '0s' }).TESSERA_JWKS_MAX_AGE).toBe(0);
  });

  it('requires an explicit issuer in the strict profile', () => {
    expect(() => load({ TESSERA_PROFILE: 'strict' })).toThrow(/TESSERA_ISSUER/);
    expect(
      load({ TESSERA_PROFILE: 'strict', TESSERA_ISSUER: 'https://id.example.com' }).TESSERA_PROFILE,
    ).toBe('strict');
  });
});

describe('insecureSettings', () => {
  it('has one sentence for each insecure default of the contract', () => {
    const settings = insecureSettings(load({}));
    expect(settings).toHaveLength(4);
    for (const place of ['/introspect', '/device_authorization', '/logout', 'TESSERA_ISSUER']) {
      expect(settings.some((setting) => setting.includes(place))).toBe(true);
    }
  });

  it('has none in the strict profile with an https issuer', () => {
    expect(
      insecureSettings(load({ TESSERA_PROFILE: 'strict', TESSERA_ISSUER: 'https://id.example.com' })),
    ).toEqual([]);
  });

  it('reports plain http and trust in every caller', () => {
    const settings = insecureSettings(
      load({ TESSERA_ISSUER: 'http://id.example.com', TESSERA_TRUSTED_CALLERS: '0.0.0.0/0' }),
    );
    expect(settings.join()).toContain('plain http');
    expect(settings.join()).toContain('everyone');
    expect(insecureSettings(load({ TESSERA_ISSUER: 'http://localhost:8080' })).join()).not.toContain(
      'plain http',
    );
  });

  it('reports nothing about callers if none is trusted', () => {
    const config = load({ TESSERA_TRUSTED_CALLERS: 'none' });
    expect(config.TESSERA_TRUSTED_CALLERS.contains('127.0.0.1')).toBe(false);
    expect(insecureSettings(config).join()).not.toContain('/introspect');
  });
});
