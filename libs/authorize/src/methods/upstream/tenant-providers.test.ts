import type { CallOptions } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { expect, it } from 'vitest';
import { fakeClock } from '@tessera/test-kit';
import type { BrowserCall } from '../../browser-call.ts';
import { createTenantProviders } from './tenant-providers.ts';

const from = { call: { onward: (): CallOptions => ({}) } } as BrowserCall;

const providersOf = (failure: Error) =>
  createTenantProviders({
    clock: fakeClock(0),
    directoryService: { listProviders: () => Promise.reject(failure) } as never,
  }).of(from, 'acme');

it('a directory that is unavailable may have some, so a sign-in waits for it', async () => {
  await expect(providersOf(temporarilyUnavailable())).rejects.toMatchObject({
    code: 'temporarily_unavailable',
  });
});
