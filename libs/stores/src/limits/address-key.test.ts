import { expect, it } from 'vitest';
import { addressKey, networkKey } from './address-key.ts';

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0'],
  ['', ''],
  ['not an address', 'not an address'],
])('counts attempts from %s under %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

it.each([
  ['192.0.2.7', '192.0.2'],
  ['::ffff:192.0.2.7', '192.0.2'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1'],
  ['2001:db8:1:ffff::9', '2001:db8:1'],
  ['2001:db8:2::9', '2001:db8:2'],
  ['', ''],
])('puts %j into the network %j', (address, key) => {
  expect(networkKey(address)).toBe(key);
});
