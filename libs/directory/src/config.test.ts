import { loadConfig } from '@tessera/process';
import { describe, expect, it } from 'vitest';
import { directoryConfig, hashConcurrency } from './config.ts';

const pepper = Buffer.alloc(32, 7);

function load(environment: Record<string, string>) {
  return loadConfig(directoryConfig, environment);
}

describe('the settings of the directory', () => {
  it('accept a pepper of 32 bytes in base64 or base64url', () => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const config = load({ TESSERA_DIRECTORY_PEPPER: pepper.toString(encoding) });
      expect(String(config.TESSERA_DIRECTORY_PEPPER)).toBe('[redacted]');
    }
  });

  it('refuse a pepper of another length, without quoting it', () => {
    const short = pepper.subarray(1).toString('base64');
    expect(() => load({ TESSERA_DIRECTORY_PEPPER: short })).toThrow(/TESSERA_DIRECTORY_PEPPER.*32 bytes/);
    expect(() => load({ TESSERA_DIRECTORY_PEPPER: short })).not.toThrow(short);
    expect(() => load({})).toThrow(/TESSERA_DIRECTORY_PEPPER is missing/);
  });

  it('refuse TokenReviews without the API server that would be asked', () => {
    const settings = {
      TESSERA_DIRECTORY_PEPPER: pepper.toString('base64'),
      TESSERA_KUBERNETES_TOKEN_REVIEW: 'true',
    };
    expect(() => load(settings)).toThrow(/TESSERA_KUBERNETES_API: is required/);
    const api = { TESSERA_KUBERNETES_API: 'https://kubernetes.default.svc' };
    expect(load({ ...settings, ...api }).TESSERA_KUBERNETES_TOKEN_REVIEW).toBe(true);
  });

  it('hash on every core and leave one thread for other work', () => {
    const config = { UV_THREADPOOL_SIZE: 4 };
    expect(hashConcurrency(config, 1)).toBe(1);
    expect(hashConcurrency(config, 2)).toBe(2);
    expect(hashConcurrency(config, 16)).toBe(3);
  });
});
