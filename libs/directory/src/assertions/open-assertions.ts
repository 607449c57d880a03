import { readFile } from 'node:fs/promises';
import { repeat } from '@tessera/kit';
import { createFetch, createPlaces } from '@tessera/outbound';
import { allowsPrivate, type Runtime } from '@tessera/process';
import { startPurge } from '@tessera/stores';
import { limitRepeats } from '@tessera/telemetry';
import { parseIssuerKeys, type DirectoryConfig } from '../config.ts';
import { createAssertionRecords } from './assertion-records.postgres.ts';
import { KeySets } from './key-sets.ts';
import { createKeySources } from './key-sources.ts';
import { createVerifyAssertion, type VerifyAssertion } from './verify-assertion.ts';

/** Two requests, one after the other, fit in the time of a call. */
const timeoutMs = 2_000;
/** Some eighty keys of 4,096 bits, without certificates. */
const longestBytes = 64 * 1024;
const clusterPauseMs = 10_000;

export interface Assertions {
  readonly verify: VerifyAssertion;
  close(): Promise<void>;
}

/** The verification of assertions, with the keys that it needs. */
export function openAssertions(
  config: DirectoryConfig,
  { database, log, clock }: Pick<Runtime, 'database' | 'log' | 'clock'>,
): Assertions {
  const places = createPlaces(clock);
  const bounds = { places, timeoutMs, longestBytes };
  const isPrivate = allowsPrivate(config, 'issuers');
  const folder = config.TESSERA_KUBERNETES_CREDENTIALS;
  const address = config.TESSERA_KUBERNETES_API;
  const authority = () => readFile(`${folder}/ca.crt`, 'utf8');
  const sources = createKeySources({
    configured: parseIssuerKeys(config.TESSERA_TRUSTED_ISSUER_KEYS) ?? new Map(),
    allowsPrivate: isPrivate,
    fetch: createFetch({ ...bounds, allowPrivate: isPrivate }),
    fetchConfigured: createFetch({ ...bounds, allowPrivate: true }),
    cluster:
      address === undefined
        ? undefined
        : {
            address,
            folder,
            fetch: createFetch({
              ...bounds,
              allowPrivate: true,
              ...(address.startsWith('https:') && { authority }),
            }),
          },
  });
  const keySets = new KeySets({ clock, places, warnings: limitRepeats(log) });
  const records = createAssertionRecords(database);
  const purge = startPurge(records, { what: 'used assertions', log });
  const { cluster } = sources;
  // What the cluster calls its issuer is known before the first of its tokens comes, and no request waits for it.
  const lookUp =
    cluster &&
    repeat(() => keySets.get(cluster, ''), {
      pauseMs: clusterPauseMs,
      onError: () => undefined,
    });
  return {
    verify: createVerifyAssertion({
      records,
      sources,
      keySets,
      clock,
      sharedIssuer: config.TESSERA_ISSUER ?? '',
    }),
    async close() {
      await purge.close();
      await lookUp?.close();
    },
  };
}
