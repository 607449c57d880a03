import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { combine, ConfigError, knownSettings, loadConfig } from './load-config.ts';
import { issuerSetting } from './settings-of-several-services.ts';
import { processConfig } from './settings-of-every-process.ts';
import { rpcConfig } from './rpc-settings.ts';
import { parseRedisUrl } from '@tessera/stores';
import { Secret } from '@tessera/kit';
import { choice, duration, flag, integer, list, port, secret, secretIn } from './setting-types.ts';

const directory = mkdtempSync(join(tmpdir(), 'tessera-config-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function problemsOf(schema: z.ZodObject, environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(schema, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const schema = z.object({
  TESSERA_HTTP_PORT: port(8080),
  TESSERA_KEYS_KEK: secret(32),
  TESSERA_LIFETIME: duration('10m', { min: '1s', max: '1h' }),
});
const kek = 'k'.repeat(40);

describe('loadConfig', () => {
  it('reads values, applies defaults, and wraps secrets', () => {
    const config = loadConfig(schema, { TESSERA_KEYS_KEK: kek, PATH: '/bin', HOME: '/root' });
    expect(config.TESSERA_HTTP_PORT).toBe(8080);
    expect(config.TESSERA_LIFETIME).toBe(600);
    expect(config.TESSERA_KEYS_KEK.reveal()).toBe(kek);
    expect(JSON.stringify(config)).not.toContain(kek);
    expectTypeOf(config.TESSERA_KEYS_KEK).toEqualTypeOf<Secret>();
  });

  it('takes every setting from a file as well, without its last newline', () => {
    const config = loadConfig(schema, {
      TESSERA_KEYS_KEK_FILE: file('kek', `${kek}\n`),
      TESSERA_HTTP_PORT_FILE: file('port', '9090\r\n'),
    });
    expect(config.TESSERA_KEYS_KEK.reveal()).toBe(kek);
    expect(config.TESSERA_HTTP_PORT).toBe(9090);
  });

  it('treats an empty value as absent', () => {
    expect(loadConfig(schema, { TESSERA_KEYS_KEK: kek, TESSERA_HTTP_PORT: '' }).TESSERA_HTTP_PORT).toBe(8080);
    expect(problemsOf(schema, { TESSERA_KEYS_KEK: '' })[0]).toMatch(/^TESSERA_KEYS_KEK is missing\. Set it/);
  });

  it('reports every problem at once, each with its key and what to do, and no value', () => {
    const problems = problemsOf(schema, {
      TESSERA_HTTP_PORT: 'value-that-must-not-show',
      TESSERA_KEYS_KEK: 'tooshort-and-secret',
      TESSERA_LIFETIME: '2h',
      TESSERA_HTP_PORT: '1',
      TESSERA_NONSENSE_ALTOGETHER: '1',
    });
    expect(problems).toEqual([
      'TESSERA_HTP_PORT is not a setting of Tessera. Remove it, or did you mean TESSERA_HTTP_PORT?',
      'TESSERA_NONSENSE_ALTOGETHER is not a setting of Tessera. Remove it.',
      'TESSERA_HTTP_PORT: expected a port number from 0 to 65535.',
      'TESSERA_KEYS_KEK: expected at least 32 characters.',
      'TESSERA_LIFETIME: expected at most 1h.',
    ]);
    const message = new ConfigError(problems).message;
    expect(message).toMatch(/^The configuration has 5 problems:\n {2}- TESSERA_HTP_PORT/);
    expect(message).not.toMatch(/must-not-show|tooshort/);
  });

  it('refuses a setting that is given both ways, and a file that is missing or empty, without a second complaint', () => {
    expect(problemsOf(schema, { TESSERA_KEYS_KEK: kek, TESSERA_KEYS_KEK_FILE: file('both', kek) })).toEqual([
      'TESSERA_KEYS_KEK and TESSERA_KEYS_KEK_FILE are both set. Remove one of them.',
    ]);
    expect(problemsOf(schema, { TESSERA_KEYS_KEK_FILE: join(directory, 'absent') })).toEqual([
      'TESSERA_KEYS_KEK_FILE names a file that cannot be read (ENOENT). Correct the path or its permissions.',
    ]);
    expect(problemsOf(schema, { TESSERA_KEYS_KEK_FILE: file('empty', '\n') })).toEqual([
      'TESSERA_KEYS_KEK_FILE names an empty file. Put the value into it.',
    ]);
  });

  it('accepts the settings of other processes, so that all may share one environment file', () => {
    const environment = {
      TESSERA_KEYS_KEK: kek,
      TESSERA_ISSUER: 'https://id.example',
      TESSERA_RPC_TOKEN_FILE: '/x',
    };
    expect(problemsOf(schema, environment)).toEqual([]);
    expect(() => loadConfig(schema, environment, { known: [] })).toThrow(ConfigError);
  });

  it('ignores the variables that Kubernetes sets for Services', () => {
    const links = {
      TESSERA_TOKEN_SERVICE_HOST: '10.0.0.1',
      TESSERA_TOKEN_SERVICE_PORT_GRPC: '9000',
      TESSERA_TOKEN_PORT: 'tcp://10.0.0.1:9000',
      TESSERA_TOKEN_PORT_9000_TCP: 'tcp://10.0.0.1:9000',
      TESSERA_TOKEN_PORT_9000_TCP_ADDR: '10.0.0.1',
    };
    expect(problemsOf(schema, { TESSERA_KEYS_KEK: kek, ...links })).toEqual([]);
    expect(problemsOf(schema, { TESSERA_KEYS_KEK: kek, TESSERA_TOKEN_PORT: '9000' })).toHaveLength(1);
  });

  it('reads a setting whose own name ends in _FILE', () => {
    const apply = z.object({ TESSERA_APPLY_FILE: z.string().optional() });
    expect(loadConfig(apply, { TESSERA_APPLY_FILE: '/etc/apply.yaml' }).TESSERA_APPLY_FILE).toBe(
      '/etc/apply.yaml',
    );
  });

  it('prints a rule over several settings as it was written', () => {
    const rule = z
      .object({ TESSERA_RPC_AUTH: z.string(), TESSERA_RPC_TOKEN: z.string().optional() })
      .refine((config) => config.TESSERA_RPC_TOKEN !== undefined, {
        error: 'Set TESSERA_RPC_TOKEN for token auth.',
      });
    expect(problemsOf(rule, { TESSERA_RPC_AUTH: 'token' })).toEqual([
      'Set TESSERA_RPC_TOKEN for token auth.',
    ]);
  });
});

describe('combine', () => {
  it('takes a setting of several parts once, and refuses two schemas for one setting', () => {
    const shared = z.object({ TESSERA_ISSUER: issuerSetting });
    const other = z.object({ TESSERA_ISSUER: z.string().optional() });
    expect(Object.keys(combine(shared, z.object({ TESSERA_ISSUER: issuerSetting })).shape)).toEqual([
      'TESSERA_ISSUER',
    ]);
    expect(() => combine(shared, other)).toThrow('TESSERA_ISSUER has two schemas');
    expect(() => combine(other, shared)).toThrow('TESSERA_ISSUER has two schemas');
  });

  it('makes one schema of several and keeps the rules that each has over its settings', () => {
    const ruled = z
      .object({
        TESSERA_PROFILE: choice(['contract', 'strict'], 'contract'),
        TESSERA_ISSUER: z.string().optional(),
      })
      .refine((config) => config.TESSERA_PROFILE !== 'strict' || config.TESSERA_ISSUER !== undefined, {
        error: 'TESSERA_PROFILE=strict needs TESSERA_ISSUER. Set it.',
      });
    const all = combine(processConfig, rpcConfig, ruled);
    const config = loadConfig(all, { DATABASE_URL: 'postgres://u:p@h/d' });
    expectTypeOf(config.TESSERA_PROFILE).toEqualTypeOf<'contract' | 'strict'>();
    expectTypeOf(config.DATABASE_URL).toEqualTypeOf<Secret | undefined>();
    expect(config.TESSERA_RPC_HOST).toBe('127.0.0.1');
    expect(problemsOf(all, { TESSERA_PROFILE: 'strict' })).toEqual([
      'TESSERA_PROFILE=strict needs TESSERA_ISSUER. Set it.',
    ]);
  });
});

describe('types of settings', () => {
  const read = (type: z.ZodType, value: string) => loadConfig(z.object({ X: type }), { X: value }).X;
  const refusal = (type: z.ZodType, value: string) => problemsOf(z.object({ X: type }), { X: value })[0];

  it.each([
    ['250ms', 0.25],
    ['30s', 30],
    ['10m', 600],
    ['12h', 43_200],
    ['30d', 2_592_000],
  ])('reads the duration %s as %d seconds', (value, seconds) => {
    expect(read(duration('1s'), value)).toBe(seconds);
  });

  it.each(['', '10', 'm', '1.5h', '-1s', '10 m', '1w', '1e3s'].filter((value) => value !== ''))(
    'refuses %s as a duration',
    (value) => {
      expect(refusal(duration('1s'), value)).toBe('X: expected a duration such as 30s, 10m, 12h or 30d.');
    },
  );

  it('refuses a fraction of a second for a setting that clients see in whole seconds', () => {
    const wholeSeconds = duration('10m', { min: '1s', wholeSeconds: true });
    for (const value of ['1500ms', '60001ms']) {
      expect(refusal(wholeSeconds, value)).toBe('X: expected whole seconds, without a fraction, such as 2s.');
    }
    expect(read(wholeSeconds, '2000ms')).toBe(2);
    expect(read(wholeSeconds, '2s')).toBe(2);
  });

  it('reads flags, numbers, lists, choices and URLs, and refuses invalid ones', () => {
    expect(read(flag(false), 'Yes')).toBe(true);
    expect(read(flag(true), '0')).toBe(false);
    expect(refusal(flag(true), 'maybe')).toBe('X: expected true or false.');
    expect(read(integer(1, { max: 5 }), '5')).toBe(5);
    expect(refusal(integer(1, { min: 2, max: 5 }), '1')).toBe('X: expected a whole number from 2 to 5.');
    expect(refusal(integer(1), '1.5')).toMatch(/expected a whole number/);
    expect(refusal(port(1), '65536')).toMatch(/expected a port number/);
    expect(read(list(), ' a, b ,,c ')).toEqual(['a', 'b', 'c']);
    expect(refusal(choice(['a', 'b'], 'a'), 'c')).toBe('X: expected one of a, b.');
    expect(refusal(secretIn(parseRedisUrl), 'not a url with pa55word')).not.toContain('pa55word');
    expect(read(secretIn(parseRedisUrl), 'redis://:pa55word@h')).toBeInstanceOf(Secret);
  });

  it('knows every setting of the process and of its calls', () => {
    const own = [...Object.keys(processConfig.shape), ...Object.keys(rpcConfig.shape)];
    expect(own.filter((name) => name.startsWith('TESSERA_') && !knownSettings.includes(name))).toEqual([]);
    expect([...knownSettings].toSorted()).toEqual(knownSettings);
  });
});
