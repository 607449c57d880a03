import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isGiven, loadConfig } from './load-config.ts';
import { formerNames } from './renamed-settings.ts';
import { duration } from './setting-types.ts';

const schema = z.object({ TESSERA_SESSION_TTL: duration('12h') });

describe('settings that were renamed', () => {
  it('accepts the former name', () => {
    expect(loadConfig(schema, { TESSERA_LIFETIME_SESSION: '1h' })).toEqual({ TESSERA_SESSION_TTL: 3600 });
    expect(isGiven({ TESSERA_LIFETIME_SESSION: '1h' }, 'TESSERA_SESSION_TTL')).toBe(true);
  });

  it('prefers the present name if both are set', () => {
    const environment = { TESSERA_LIFETIME_SESSION: '1h', TESSERA_SESSION_TTL: '2h' };
    expect(loadConfig(schema, environment)).toEqual({ TESSERA_SESSION_TTL: 7200 });
    const withFile = { TESSERA_LIFETIME_SESSION_FILE: '/run/absent', TESSERA_SESSION_TTL: '2h' };
    expect(loadConfig(schema, withFile)).toEqual({ TESSERA_SESSION_TTL: 7200 });
  });

  it('lists the former names in use, those with _FILE included', () => {
    expect(
      formerNames({ TESSERA_LIFETIME_SESSION_FILE: '/run/ttl', TESSERA_SESSION_IDLE_TTL: '1h' }),
    ).toEqual([{ former: 'TESSERA_LIFETIME_SESSION_FILE', present: 'TESSERA_SESSION_TTL_FILE' }]);
  });
});
