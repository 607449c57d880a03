import { repeat } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import { startPurge } from '@tessera/stores';
import type { DirectoryConfig } from '../config.ts';
import { createAssertionRecords } from './assertion-records.postgres.ts';
import type { Verifier } from './verifier.ts';
import type { VerifyAssertion } from './verify-assertion.ts';

const clusterPauseMs = 10_000;

export interface Assertions {
  readonly verify: VerifyAssertion;
  close(): Promise<void>;
}

/** The verification of assertions. What it needs is loaded with the first one, or at the start if there is a cluster. */
export function openAssertions(
  config: DirectoryConfig,
  runtime: Pick<Runtime, 'database' | 'log' | 'clock'>,
): Assertions {
  const records = createAssertionRecords(runtime.database);
  const purge = startPurge(records, { what: 'used assertions', log: runtime.log });
  let opened: Promise<Verifier> | undefined;
  const verifier = async () =>
    (opened ??= import('./verifier.ts').then(({ openVerifier }) => openVerifier(config, runtime, records)));
  // What the cluster calls its issuer is known before the first of its tokens comes, and no request waits for it.
  const lookUp =
    config.TESSERA_KUBERNETES_API === undefined
      ? undefined
      : repeat(async () => (await verifier()).lookUpCluster(), {
          pauseMs: clusterPauseMs,
          onError: () => undefined,
        });
  return {
    verify: async (presented) => (await verifier()).verify(presented),
    async close() {
      await purge.close();
      await lookUp?.close();
    },
  };
}
