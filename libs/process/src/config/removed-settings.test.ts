import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { knownSettings, loadConfig } from './load-config.ts';
import { removedNames, removedSettings } from './removed-settings.ts';
import { duration } from './setting-types.ts';

const schema = z.object({ TESSERA_SESSION_TTL: duration('12h') });

describe('settings that were removed', () => {
  it('stop no start, be they set, empty or in a file', () => {
    const environment = {
      TESSERA_SESSION_TTL: '1h',
      TESSERA_LOGINS_PER_ACCOUNT: '7',
      TESSERA_DEVICE_GUESS_WINDOW: '5m',
      TESSERA_DECISIONS_PER_USER: '',
      TESSERA_KEYS_RETENTION_FILE: '/run/absent',
    };
    expect(loadConfig(schema, environment)).toEqual({ TESSERA_SESSION_TTL: 3600 });
    expect(removedNames(environment)).toEqual([
      {
        name: 'TESSERA_LOGINS_PER_ACCOUNT',
        sentence:
          'Remove TESSERA_LOGINS_PER_ACCOUNT: it no longer has an effect. ' +
          'In its place there is a hundred times TESSERA_LOGIN_FAILURES_PER_ACCOUNT.',
      },
      {
        name: 'TESSERA_DEVICE_GUESS_WINDOW',
        sentence:
          'Use TESSERA_LOGIN_FAILURES_WINDOW instead: TESSERA_DEVICE_GUESS_WINDOW no longer has an effect.',
      },
      {
        name: 'TESSERA_KEYS_RETENTION_FILE',
        sentence: 'Remove TESSERA_KEYS_RETENTION_FILE: it no longer has an effect. In its place there is 7d.',
      },
    ]);
  });

  it('do not excuse other unknown names, nor are they offered for one', () => {
    expect(() => loadConfig(schema, { TESSERA_LOGINS_PER_ACCOUNTS: '7' })).toThrow(
      'TESSERA_LOGINS_PER_ACCOUNTS is not a setting of Tessera. Remove it.',
    );
  });

  it('are no settings, and name settings in their place', () => {
    for (const [name, instead] of Object.entries(removedSettings)) {
      expect(knownSettings).not.toContain(name);
      for (const [setting] of instead.matchAll(/TESSERA_\w+/g)) expect(knownSettings).toContain(setting);
    }
  });
});
