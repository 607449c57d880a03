import { describe, expect, it } from 'vitest';
import { knownSettings, loadConfig } from '@tessera/process';
import { deviceConfig } from './config.ts';

describe('the settings of the device service', () => {
  it('have the defaults of the reference', () => {
    expect(loadConfig(deviceConfig, {})).toMatchObject({
      TESSERA_PROFILE: 'contract',
      TESSERA_DEVICE_CODE_TTL: 600,
      TESSERA_CIBA_REQUEST_TTL: 300,
      TESSERA_DEVICE_POLL_INTERVAL: 5,
      TESSERA_USER_CODE_FAILURES_PER_SESSION: 5,
      TESSERA_USER_CODE_FAILURES_PER_ADDRESS: 20,
    });
  });

  it('are known to every process', () => {
    expect(knownSettings).toEqual(expect.arrayContaining(Object.keys(deviceConfig.shape)));
  });

  it.each([
    ['TESSERA_DEVICE_CODE_TTL', '16m'],
    ['TESSERA_DEVICE_POLL_INTERVAL', '0s'],
    ['TESSERA_USER_CODE_FAILURES_TOTAL', '0'],
    ['TESSERA_CIBA_PENDING_PER_USER', '0'],
    ['TESSERA_PROFILE', 'loose'],
  ])('refuse %s=%s', (key, value) => {
    expect(() => loadConfig(deviceConfig, { [key]: value })).toThrow(key);
  });
});
