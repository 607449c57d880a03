import { expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const known = ['sslmode', 'sslrootcert', 'host'];

it.each([
  ['ssl_mode', 'sslmode'],
  ['SSLMODE', 'sslmode'],
  ['sslRootCrt', 'sslrootcert'],
])('%s is a slip for %s', (name, meant) => {
  expect(nearest(name, known)).toBe(meant);
});

it.each(['connect_timeout', 'zzzz', 'tls', ''])('"%s" is none', (name) => {
  expect(nearest(name, known)).toBeUndefined();
});
