import { describe, expect, it } from 'vitest';
import { issuerRule, type RequestedHost } from './issuer-rule.ts';

const from = (host: string | undefined, forwarded: Partial<RequestedHost> = {}): RequestedHost => ({
  host,
  forwardedHost: undefined,
  forwardedProto: undefined,
  ...forwarded,
});

describe('issuerRule', () => {
  const inferred = issuerRule(undefined, ['localhost', '127.0.0.1', '[::1]', 'id.example:8443']);

  it.each([
    ['localhost', 'http://localhost'],
    ['LOCALHOST:8080', 'http://localhost:8080'],
    ['localhost:80', 'http://localhost'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['id.example:8443', 'http://id.example:8443'],
  ])('infers from the host %j the issuer %j', (host, issuer) => {
    expect(inferred.resolve(from(host))).toBe(issuer);
  });

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evillocalhost',
    'localhost@evil.example',
    'localhost/../evil',
    'localhost:8080:8080',
    'localhost:99999',
    'localhost:08080',
    'localhost:00080',
    'localhost:',
    'localhost.',
    'localhost,evil.example',
    ' localhost',
    'id.example',
    'id.example:8444',
    '<script>',
    '[::1',
  ])('refuses the host %j without repeating it', (host) => {
    expect(() => inferred.resolve(from(host))).toThrow(
      'This service does not answer for the requested host.',
    );
  });

  it('prefers the host forwarded by the nearest trusted proxy', () => {
    const host = 'localhost';
    expect(inferred.resolve(from(host, { forwardedProto: 'https' }))).toBe('https://localhost');
    expect(inferred.resolve(from('10.1.1.1', { forwardedHost: 'evil.example, localhost' }))).toBe(
      'http://localhost',
    );
    expect(() => inferred.resolve(from(host, { forwardedHost: 'evil.example' }))).toThrow();
    expect(() => inferred.resolve(from(host, { forwardedProto: 'javascript' }))).toThrow();
  });

  it('is the configured issuer for every host', () => {
    const explicit = issuerRule('https://id.example.com', []);
    expect(explicit.resolve(from('evil.example'))).toBe('https://id.example.com');
    expect([explicit.explicit, inferred.explicit]).toEqual([true, false]);
  });
});
