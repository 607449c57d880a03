import { describe, expect, it } from 'vitest';
import { callerAddress, coverInternet, isEverything, networks, normalizeAddress } from './caller-address.ts';

describe('networks', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.200.0.1', true],
    ['::1', true],
    ['10.0.0.1', true],
    ['172.31.255.255', true],
    ['172.32.0.1', false],
    ['192.168.1.1', true],
    ['fd00::1', true],
    ['203.0.113.9', false],
    ['2001:db8::1', false],
    ['', false],
    ['garbage', false],
  ])('recognizes whether %j is loopback or private', (address, expected) => {
    expect(networks(['loopback', 'private']).contains(address)).toBe(expected);
  });

  it('accepts single addresses and networks', () => {
    const set = networks(['203.0.113.9', '2001:db8::/32']);
    expect(set.contains('203.0.113.9')).toBe(true);
    expect(set.contains('203.0.113.10')).toBe(false);
    expect(set.contains('2001:db8:1::1')).toBe(true);
  });

  it('reads IPv4-mapped entries as IPv4, as it does addresses (RFC 4291 §2.5.5.2)', () => {
    const set = networks(['::ffff:10.0.0.1', '::ffff:192.0.2.0/120']);
    expect(set.contains('10.0.0.1')).toBe(true);
    expect(set.contains('::ffff:10.0.0.1')).toBe(true);
    expect(set.contains('10.0.0.2')).toBe(false);
    expect(set.contains('192.0.2.77')).toBe(true);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0',
    '0x7f.0.0.1',
    '010.0.0.1',
    '1',
    'localhost',
    'fe80::1%eth0',
    '::/129',
    '::ffff:10.0.0.0/90',
    '10.0.0.0/-1',
  ])('refuses the entry %j', (entry) => {
    expect(() => networks([entry])).toThrow(/is not an IP address/);
  });

  it('recognizes entries that include every address', () => {
    expect(['0.0.0.0/0', '::/0', '0.0.0.0/00'].every(isEverything)).toBe(true);
    expect(['10.0.0.0/8', '10.0.0.0/10', '10.0.0.0'].some(isEverything)).toBe(false);
  });
});

describe('coverInternet', () => {
  it.each([
    [['0.0.0.0/0'], true],
    [['::/0'], true],
    [['2000::/3'], true],
    [['128.0.0.0/1', '0.0.0.0/1'], true],
    [['0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/3'], true],
    [['0.0.0.0/1', '10.0.0.0/8', '128.0.0.0/2', '192.0.0.0/3'], true],
    [['2000::/4', '3000::/4'], true],
    [['0.0.0.0/1', '128.0.0.0/2'], false],
    [['0.0.0.0/1', '192.0.0.0/2'], false],
    [['128.0.0.0/1', 'private'], false],
    [['2000::/4'], false],
    [['0.0.0.0/1', '2000::/4'], false],
    [[], false],
  ])('recognizes whether %j covers all internet addresses of a family', (entries, expected) => {
    expect(coverInternet(entries)).toBe(expected);
  });
});

describe('callerAddress', () => {
  const proxies = networks(['10.0.0.0/8']);

  it('is the address of the connection unless that is a trusted proxy', () => {
    expect(callerAddress('203.0.113.9', '127.0.0.1', proxies)).toBe('203.0.113.9');
    expect(callerAddress('203.0.113.9', '127.0.0.1', networks([]))).toBe('203.0.113.9');
  });

  it('is the right-most hop that is not a trusted proxy', () => {
    expect(callerAddress('10.0.0.1', '198.51.100.7, 203.0.113.9, 10.0.0.2', proxies)).toBe('203.0.113.9');
    expect(callerAddress('::ffff:10.0.0.1', '1.1.1.1,203.0.113.9', proxies)).toBe('203.0.113.9');
  });

  it('does not depend on hops that the client prepended', () => {
    for (const left of ['1.1.1.1', '2.2.2.2, 3.3.3.3', 'garbage', '127.0.0.1']) {
      expect(callerAddress('10.0.0.1', `${left}, 203.0.113.9`, proxies)).toBe('203.0.113.9');
    }
  });

  it.each(['', ',', ', ,', 'garbage', 'unknown', '203.0.113.9, garbage', '<script>', '999.1.1.1'])(
    'is empty when the right-most hop of %j is no address',
    (header) => {
      expect(callerAddress('10.0.0.1', header, proxies)).toBe('');
    },
  );

  it('is unknown, and in no network, if a trusted proxy names no caller', () => {
    expect(callerAddress('10.0.0.1', undefined, proxies)).toBe('');
    expect(networks(['loopback', 'private']).contains('')).toBe(false);
  });

  it('accepts hops with a port or a zone, and a hundred hops', () => {
    expect(callerAddress('10.0.0.1', '203.0.113.9:4711', proxies)).toBe('203.0.113.9');
    expect(callerAddress('10.0.0.1', '[2001:db8::1]:4711', proxies)).toBe('2001:db8::1');
    expect(callerAddress('10.0.0.1', 'fe80::1%eth0', proxies)).toBe('fe80::1');
    expect(callerAddress('10.0.0.1', Array(100).fill('203.0.113.9').join(), proxies)).toBe('203.0.113.9');
  });

  it('is the left-most hop if all are trusted', () => {
    expect(callerAddress('10.0.0.1', '10.0.0.3, 10.0.0.2', proxies)).toBe('10.0.0.3');
  });
});

describe('normalizeAddress', () => {
  it.each([
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:127.0.0.1', '127.0.0.1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['FE80::1%eth0', 'fe80::1'],
    ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['127.0.0.1', '127.0.0.1'],
    ['', ''],
    ['example.com', ''],
  ])('normalizes %j to %j', (text, expected) => {
    expect(normalizeAddress(text)).toBe(expected);
  });
});
