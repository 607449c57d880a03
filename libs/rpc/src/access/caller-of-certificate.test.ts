import { expect, test } from 'vitest';
import { certifiedName, isCallerName } from './caller-of-certificate.ts';

test.each([
  ['DNS:token', 'token'],
  ['DNS:token, DNS:localhost, IP Address:127.0.0.1', 'token'],
  ['DNS:keys.tessera.svc.cluster.local, DNS:keys', 'keys'],
  ['URI:spiffe://example.org/ns/tessera/sa/gateway', 'gateway'],
  ['DNS:directory.internal, URI:spiffe://example.org/directory', 'directory'],
])('a certificate for %s speaks for %s', (names, caller) => {
  expect(certifiedName(names)?.caller).toBe(caller);
});

test.each([
  undefined,
  '',
  'DNS:localhost',
  'DNS:*.token',
  'DNS:tokens, DNS:my-token.example',
  'DNS:constructor, DNS:__proto__',
  'URI:https://example.org/token',
  'email:token@example.org',
])('a certificate for %s identifies no caller', (names) => {
  expect(certifiedName(names)?.caller).toBeUndefined();
});

test('a certificate with two callers identifies neither', () => {
  expect(certifiedName('DNS:token, DNS:gateway')?.caller).toBeUndefined();
  expect(certifiedName('DNS:token, URI:spiffe://example.org/gateway')?.caller).toBeUndefined();
});

test('a name that looks like a list of names identifies no caller', () => {
  expect(certifiedName('DNS:"x, DNS:token, y"')?.caller).toBeUndefined();
});

test('the name of the caller is returned as in the certificate', () => {
  expect(certifiedName('DNS:localhost, DNS:introspector.orders, IP Address:127.0.0.1')).toEqual({
    caller: 'introspector',
    name: 'introspector.orders',
  });
  const spiffeId = 'spiffe://example.org/ns/orders/introspector';
  expect(certifiedName(`URI:${spiffeId}`)).toEqual({ caller: 'introspector', name: spiffeId });
});

const trustDomain = 'tessera.example';

test.each([
  ['DNS:token', 'token'],
  ['DNS:token.tessera.example, DNS:tessera-token.svc', 'token'],
  ['URI:spiffe://tessera.example/ns/tessera/sa/token', 'token'],
  ['DNS:introspector.tessera.example', 'introspector'],
  ['DNS:introspector.orders.tessera.example', 'introspector'],
])('within the trust domain a certificate for %s speaks for %s', (names, caller) => {
  expect(certifiedName(names, trustDomain)?.caller).toBe(caller);
});

test.each([
  'DNS:token.evil.example',
  'DNS:token.evil.tessera.example',
  'DNS:token.tessera.example.evil.example',
  'DNS:token.xtessera.example',
  'DNS:introspector.orders',
  'DNS:introspector.xtessera.example',
  'URI:spiffe://evil.example/token',
  'URI:spiffe://tessera.example.evil.example/token',
])('with a trust domain a certificate for %s identifies no caller (OTH-5)', (names) => {
  expect(certifiedName(names, trustDomain)?.caller).toBeUndefined();
});

test('only existing processes are caller names', () => {
  expect(isCallerName('operator')).toBe(true);
  expect(isCallerName('toString')).toBe(false);
});
