import { describe, expect, it } from 'vitest';
import { knownSettings, loadConfig } from '@tessera/kit';
import { deviceConfig } from './config.ts';

describe('the settings of the device service', () => {
  it('have the defaults of the reference', () => {
    expect(loadConfig(deviceConfig, {})).toMatchObject({
      TESSERA_PROFILE: 'contract',
      TESSERA_LIFETIME_DEVICE_CODE: 600,
      TESSERA_LIFETIME_CIBA: 300,
      TESSERA_POLL_INTERVAL: 5,
      TESSERA_DEVICE_GUESS_LIMIT_SESSION: 5,
      TESSERA_DEVICE_GUESS_LIMIT_ADDRESS: 20,
    });
  });

  it('are known to every process', () => {
    expect(knownSettings).toEqual(expect.arrayContaining(Object.keys(deviceConfig.shape)));
  });

  it.each([
    ['TESSERA_LIFETIME_DEVICE_CODE', '16m'],
    ['TESSERA_POLL_INTERVAL', '0s'],
    ['TESSERA_DEVICE_GUESS_LIMIT_GLOBAL', '0'],
    ['TESSERA_CIBA_PENDING_LIMIT', '0'],
    ['TESSERA_PROFILE', 'loose'],
  ])('refuse %s=%s', (key, value) => {
    expect(() => loadConfig(deviceConfig, { [key]: value })).toThrow(key);
  });
});
