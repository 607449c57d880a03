import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { isPublicAddress, publicLookup } from './public-address.ts';

describe('isPublicAddress', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.0.1',
    '192.88.99.1',
    '198.51.100.1',
    '240.0.0.1',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    '::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001:2::1',
    '2001:20::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fec0::1',
    '2606:4700::1111%eth0',
    '010.0.0.1',
    '127.1',
    '2130706433',
    'localhost',
    '',
    '0x7f000001',
  ])('refuses %j (CVE-2026-1518)', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '2a00:1450:4001::1'])(
    'accepts %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
});

describe('publicLookup', () => {
  const resolve = (addresses: LookupAddress[], all: boolean) =>
    new Promise((done) => {
      publicLookup(AbortSignal.timeout(1_000), async () => addresses)(
        'hook.example',
        { all },
        (error, address, family) => done(error === null ? [address, family] : error.name),
      );
    });
  const ofPublic = { address: '8.8.8.8', family: 4 };
  const ofPrivate = { address: '10.0.0.1', family: 4 };

  it('returns public addresses, one or all', async () => {
    expect(await resolve([ofPublic], false)).toEqual(['8.8.8.8', 4]);
    expect(await resolve([ofPublic], true)).toEqual([[ofPublic], undefined]);
  });

  it('fails if any address is private or there is none', async () => {
    for (const addresses of [[ofPrivate], [ofPublic, ofPrivate], []]) {
      for (const all of [true, false]) expect(await resolve(addresses, all)).toBe('PrivateAddressError');
    }
  });
});
