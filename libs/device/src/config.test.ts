import { describe, expect, it } from 'vitest';
import { knownSettings, loadConfig } from '@tessera/process';
import { deviceConfig, deviceLimits } from './config.ts';

describe('the settings of the device service', () => {
  it('have the defaults of the reference', () => {
    expect(loadConfig(deviceConfig, {})).toMatchObject({
      TESSERA_PROFILE: 'contract',
      TESSERA_DEVICE_CODE_TTL: 600,
      TESSERA_CIBA_REQUEST_TTL: 300,
      TESSERA_DEVICE_POLL_INTERVAL: 5,
    });
  });

  it('give the limits that are not set', () => {
    expect(deviceLimits(loadConfig(deviceConfig, {}))).toEqual({
      requests: { perClient: 1200, perAddress: 600 },
      failures: { session: 5, person: 20, address: 20, windowSeconds: 900, global: 120 },
      decisionsPerUser: 60,
      pendingPerUser: 5,
    });
    const least = {
      TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '1',
      TESSERA_LOGIN_FAILURES_PER_ADDRESS: '1',
      TESSERA_CIBA_REQUESTS_PER_USER: '1',
    };
    const { failures, pendingPerUser } = deviceLimits(loadConfig(deviceConfig, least));
    expect(failures).toMatchObject({ session: 1, person: 2, address: 1, global: 6 });
    expect(pendingPerUser).toBe(1);
    const most = loadConfig(deviceConfig, { TESSERA_CIBA_REQUESTS_PER_USER: '100000' });
    expect(deviceLimits(most).pendingPerUser).toBe(100);
  });

  it('are known to every process', () => {
    expect(knownSettings).toEqual(expect.arrayContaining(Object.keys(deviceConfig.shape)));
  });

  it.each([
    ['TESSERA_DEVICE_CODE_TTL', '16m'],
    ['TESSERA_DEVICE_POLL_INTERVAL', '0s'],
    ['TESSERA_LOGIN_FAILURES_PER_ADDRESS', '0'],
    ['TESSERA_CIBA_REQUESTS_PER_USER', '0'],
    ['TESSERA_PROFILE', 'loose'],
  ])('refuse %s=%s', (key, value) => {
    expect(() => loadConfig(deviceConfig, { [key]: value })).toThrow(key);
  });
});
