import { expect, it } from 'vitest';
import { domainOfEmail, withAsciiDomain } from './domain-of-email.ts';

it.each([
  ['company.example', 'company.example'],
  ['COMPANY.Example', 'company.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['bu\u0308cher.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['ｃompany.example', 'company.example'],
  ['company。example', 'company.example'],
  ['com\u00adpany.example', 'company.example'],
  ['comp\u200bany.example', 'company.example'],
  ['company.exampl\u0435', 'company.xn--exampl-8of'],
])('a domain has one form, whatever its spelling: %j (RFC 5890)', (given, domain) => {
  expect(domainOfEmail(`cfo@${given}`)).toBe(domain);
  expect(withAsciiDomain(`Cfo@${given}`)).toBe(`Cfo@${domain}`);
});

it.each([
  'company.example.',
  '.company.example',
  'company..example',
  '[company.example]',
  '[192.0.2.1]',
  '192.0.2.1',
  'localhost',
  '%63ompany.example',
  'company%2eexample',
  'company.example/',
  'company.example:25',
  'company.example?x',
  'company.example\\x',
  'company .example',
  'com\tpany.example',
  'com_pany.example',
  '-company.example',
  'a\u2024b.example',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}example`,
  '',
])('what is no domain of mail has none: %j', (given) => {
  expect(domainOfEmail(`cfo@${given}`)).toBeUndefined();
  expect(withAsciiDomain(`cfo@${given}`)).toBe(`cfo@${given}`);
});

it('the domain stands behind the last @ of an address that has something before it', () => {
  expect(domainOfEmail('"a@evil.example"@company.example')).toBe('company.example');
  expect(domainOfEmail('@company.example')).toBeUndefined();
  expect(domainOfEmail('company.example')).toBeUndefined();
});
