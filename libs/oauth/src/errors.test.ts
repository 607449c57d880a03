import { expect, it } from 'vitest';
import { receivedUri } from './errors.ts';

it('leaves user, fragment and query values out of a URI that was refused', () => {
  const uri = 'https://me:it@acme.example/cb?code=it&state=it?x=it&flag#it';
  expect(receivedUri(uri)).toBe('https://acme.example/cb?code=...&state=...&flag');
  expect(receivedUri('https://acme.example/?a?b=it')).toBe('https://acme.example/?a?b=...');
});

it('looks at each character of a refused URI once, however many question marks it has', () => {
  const began = performance.now();
  expect(receivedUri(`https://acme.example/${'?'.repeat(200_000)}`)).toHaveLength(203);
  expect(performance.now() - began).toBeLessThan(2000);
});
