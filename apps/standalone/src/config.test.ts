import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { z } from 'zod';
import { ConfigError, knownSettings, loadConfig, parseDuration, rpcConfig } from '@tessera/process';
import { banner, demoServiceSecret } from './banner.ts';
import { introspectionCredentials, standaloneConfig, withSecrets, withAdministration } from './config.ts';

const root = new URL('../../../', import.meta.url);
const settings = [...new Set([...Object.keys(standaloneConfig.shape), ...Object.keys(rpcConfig.shape)])];
const document = readFileSync(new URL('docs/configuration.md', root), 'utf8');
const shapes: Readonly<Record<string, z.ZodType>> = { ...standaloneConfig.shape, ...rpcConfig.shape };

/** How the lists state numbers and durations: "(`5s`, `1s` to `60s`)", "(`10`, `1` or more)", "(`5m`, up to `1d`)". */
const ranges = [...document.matchAll(/^- `([A-Z_]+)` \(([^)\n]+)\)(?=:|$)/gm)].flatMap(
  ([, name = '', cell = '']) => {
    const value = /^`(\d+[a-z]*)`/.exec(cell)?.[1];
    const least = /, `(\w+)` (?:to|or more)/.exec(cell)?.[1];
    const most = /\bto `(\w+)`/.exec(cell)?.[1];
    return (value ?? least ?? most) === undefined ? [] : [{ name, value, least, most }];
  },
);
/** They stand in CONTRIBUTING.md. */
const forTests = ['TESSERA_FAILPOINT', 'TESSERA_KEYS_RELOAD_INTERVAL'];
const ours = settings.filter((name) => name.startsWith('TESSERA_')).toSorted();

function dataDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-config-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe('the settings', () => {
  it('are known to every process, so that all may share one environment file', () => {
    expect([...knownSettings].toSorted()).toEqual(ours);
  });

  it('stand in docs/configuration.md with their defaults, each once', () => {
    const listed = [...document.matchAll(/^- `([A-Z_]+)` \(/gm)].map(([, name]) => name);
    const documented = settings.filter((name) => !forTests.includes(name));
    expect(listed.map(String).toSorted()).toEqual(documented.toSorted());
  });

  it.each(ranges)('$name has the default and the range that stand there', ({ name, value, least, most }) => {
    const accepts = (text: string | undefined) => shapes[name]?.safeParse(text).success;
    const isDuration = /[a-z]$/.test(value ?? '');
    const next = (bound: string, step: 1 | -1) => {
      if (!isDuration) return String(Number(bound) + step);
      const seconds = parseDuration(bound) ?? NaN;
      return seconds < 1 ? `${seconds * 1000 + step}ms` : `${seconds + step}s`;
    };
    if (value !== undefined) expect(shapes[name]?.parse(undefined)).toBe(shapes[name]?.parse(value));
    expect(accepts(least ?? (isDuration ? '0s' : '0'))).toBe(true);
    expect(accepts(most ?? (isDuration ? '99999999d' : '99999999'))).toBe(true);
    if (least !== undefined) expect(accepts(next(least, -1)), `less than ${least}`).toBe(false);
    if (most !== undefined) expect(accepts(next(most, 1)), `more than ${most}`).toBe(false);
  });

  it('need nothing but a data directory where stores are embedded', async () => {
    const environment = await withSecrets({ TESSERA_DATA_DIR: dataDirectory() });
    expect(() => loadConfig(standaloneConfig, environment)).not.toThrow();
  });

  it('make each secret once', async () => {
    const environment = { TESSERA_DATA_DIR: dataDirectory() };
    const first = await withSecrets(environment);
    expect(await withSecrets(environment)).toEqual(first);
  });

  it('ask for every secret by name where a database is given', async () => {
    const environment = { DATABASE_URL: 'postgres://db.example/tessera', TESSERA_KEYS_KEK_FILE: '/run/kek' };
    const refused = withSecrets(environment);
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow(/TESSERA_DIRECTORY_PEPPER[\s\S]*TESSERA_TOKEN_REFRESH_KEYS/);
    await expect(refused).rejects.not.toThrow(/TESSERA_KEYS_KEK/);
  });
});

describe('the console', () => {
  it('is there by itself in the demo alone, and has a secret wherever one process has both sides', () => {
    const given = (environment: Readonly<Record<string, string>>) => {
      const { TESSERA_CONSOLE_URL: url, TESSERA_CONSOLE_SECRET: secret } = withAdministration(environment);
      return [url, secret?.length];
    };
    expect(given({})).toEqual(['http://127.0.0.1', 43]);
    expect(given({ TESSERA_APPLY_FILE: 'state.yaml' })).toEqual([undefined, 43]);
    expect(given({ DATABASE_URL: 'postgres://db.example/tessera' })).toEqual([undefined, undefined]);
  });

  it('asks for its secret where the two sides are two processes', async () => {
    const environment = { TESSERA_CONSOLE_URL: 'https://console.example', TESSERA_DATA_DIR: dataDirectory() };
    const settings = await withSecrets(environment);
    expect(() => loadConfig(standaloneConfig, settings)).toThrow('TESSERA_CONSOLE_SECRET');
  });
});

describe('the settings that several services read', () => {
  it.each([
    ['TESSERA_ISSUER', 'http://localhost:18199/'],
    ['TESSERA_ISSUER', 'https://id.example/tenant'],
    ['TESSERA_ISSUER', 'https://ID.example'],
    ['TESSERA_ISSUER', 'id.example'],
    ['TESSERA_PROFILE', 'loose'],
  ])('keep their rules in the one process: %s=%s is refused', async (key, value) => {
    const environment = await withSecrets({ TESSERA_DATA_DIR: dataDirectory(), [key]: value });
    expect(() => loadConfig(standaloneConfig, environment)).toThrow(key);
  });

  it('may be an origin', async () => {
    const TESSERA_ISSUER = 'http://localhost:18199';
    const environment = await withSecrets({ TESSERA_DATA_DIR: dataDirectory(), TESSERA_ISSUER });
    expect(loadConfig(standaloneConfig, environment)).toMatchObject({ TESSERA_ISSUER });
  });
});

describe('introspectors', () => {
  it('prove themselves by access tokens alone where no shared token is set', () => {
    const credentials = (environment: Record<string, string>) =>
      introspectionCredentials(loadConfig(rpcConfig, environment));
    expect(credentials({})).toEqual({ kind: 'bearer' });
    const shared = { TESSERA_RPC_TOKEN: 'a shared token of 32 characters ...' };
    expect(credentials(shared)).toMatchObject({ kind: 'token' });
    expect(credentials({ TESSERA_RPC_AUTH: 'none' })).toEqual({ kind: 'none' });
    expect(() => credentials({ TESSERA_RPC_AUTH: 'mtls' })).toThrow('TESSERA_RPC_TLS_DIR');
  });
});

describe('the banner', () => {
  it('gives a curl with the secret that the demo tenant declares', () => {
    const declared = readFileSync(new URL('deploy/demo/tessera.yaml', root), 'utf8');
    expect(declared).toContain(demoServiceSecret);
    const addresses = { issuer: 'http://localhost:8080', consoleUrl: 'http://127.0.0.1:9002/console' };
    expect(banner(addresses, 1)).toContain(demoServiceSecret);
    expect(banner(addresses, 1)).toContain(`Console       ${addresses.consoleUrl}\n`);
    expect(banner({ ...addresses, consoleUrl: undefined }, 1)).not.toContain('Console');
  });
});
