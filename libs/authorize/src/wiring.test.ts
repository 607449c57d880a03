import { describe, expect, it } from 'vitest';
import { local } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { notListening } from '@tessera/stores';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { FakeDirectory } from '@tessera/directory-client/testing';
import { silentLog, testRuntime } from '@tessera/test-kit';
import { authorizeConfig, buildAuthorize } from './index.ts';
import { limitsOf } from './limits/guess-limits.ts';

const config = authorizeConfig.parse({});

describe('the settings', () => {
  it('have the default values of the decisions: code 60 s, visit 10 min, session 12 h and 1 h idle', () => {
    expect(config).toEqual({
      TESSERA_AUTHORIZATION_CODE_TTL: 60,
      TESSERA_AUTHORIZATION_REQUEST_TTL: 600,
      TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: 1000,
      TESSERA_UNKNOWN_SCOPES: 'refuse',
      TESSERA_ALLOW_PRIVATE: [],
      TESSERA_SESSION_TTL: 43_200,
      TESSERA_SESSION_IDLE_TTL: 3600,
      TESSERA_LOGIN_FAILURES_PER_ACCOUNT: 10,
      TESSERA_LOGIN_FAILURES_PER_ADDRESS: 100,
      TESSERA_LOGIN_FAILURES_WINDOW: 900,
    });
    const { accountTotal, addressTotal } = limitsOf(config);
    expect([accountTotal.limit, addressTotal.limit]).toEqual([1000, 10_000]);
  });

  it.each([
    ['TESSERA_AUTHORIZATION_CODE_TTL', '11m'],
    ['TESSERA_SESSION_IDLE_TTL', '1m'],
    ['TESSERA_LOGIN_FAILURES_PER_ACCOUNT', '0'],
  ])('refuse %s=%s', (key, value) => {
    expect(authorizeConfig.safeParse({ [key]: value }).success).toBe(false);
  });
});

const peersOf = (directory: FakeDirectory) => ({
  directory: directory.client,
  person: directory.person,
});

describe('the service', () => {
  it('is not ready while its store does not respond', async () => {
    const database = {
      engine: 'postgres' as const,
      query: () => Promise.reject(temporarilyUnavailable('unavailable')),
      transaction: () => Promise.reject(temporarilyUnavailable('unavailable')),
      listen: () => notListening,
      close: async () => undefined,
    };
    const peers = peersOf(new FakeDirectory('authorize'));
    const service = buildAuthorize(config, peers, testRuntime({ database }));
    await expect(service.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await service.close();
  });

  it.each(['device', 'keys', 'directory', 'introspector', 'operator'] as const)(
    'lets %s neither sign in nor take codes',
    async (caller) => {
      const service = buildAuthorize(config, peersOf(new FakeDirectory('authorize')), testRuntime());
      const client = local(AuthorizeService, service, caller, silentLog());
      for (const method of ['begin', 'continue'] as const)
        await expect(client[method]({})).rejects.toThrow(/may not call/);
      await expect(client.redeemCode({})).rejects.toThrow(/may not call/);
      await service.close();
    },
  );
});
