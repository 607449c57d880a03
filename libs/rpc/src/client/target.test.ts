import { expect, test } from 'vitest';
import { parseTarget } from './target.ts';

test.each([
  ['keys:9000', [{ host: 'keys', port: 9000 }]],
  ['keys.tessera.svc.cluster.local:1', [{ host: 'keys.tessera.svc.cluster.local', port: 1 }]],
  ['dns:///keys:9000', [{ host: 'keys', port: 9000 }]],
  ['dns:keys:9000', [{ host: 'keys', port: 9000 }]],
  ['10.0.0.1:9000', [{ host: '10.0.0.1', port: 9000 }]],
  ['[::1]:9000', [{ host: '::1', port: 9000 }]],
  ['ipv6:[fd00::1]:9000', [{ host: 'fd00::1', port: 9000 }]],
  [
    'ipv4:10.0.0.1:9000,10.0.0.2:9001',
    [
      { host: '10.0.0.1', port: 9000 },
      { host: '10.0.0.2', port: 9001 },
    ],
  ],
])('%s is read', (text, places) => {
  expect(parseTarget(text)).toEqual(places);
});

test.each([
  '',
  'keys',
  'keys:',
  'keys:0',
  'keys:65536',
  ':9000',
  '::1:9000',
  'unix:/run/keys',
  'http://keys:9000',
  'a:1,,b:2',
])('"%s" is refused with what is expected', (text) => {
  expect(() => parseTarget(text)).toThrow(
    'expected host:port, several of them with commas, an IPv6 address in brackets',
  );
});
