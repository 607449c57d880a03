import { repeat } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import { startPurge } from '@tessera/stores';
import { consoleOfToken, type BuiltInDeps } from '../applications/built-in-applications.ts';
import type { DirectoryConfig } from '../config.ts';
import { createAssertionRecords } from './assertion-records.postgres.ts';
import type { Verifier } from './verifier.ts';
import type { FindBuiltIn, VerifyAssertion } from './verify-assertion.ts';

const clusterPauseMs = 10_000;

export interface Assertions {
  readonly verify: VerifyAssertion;
  close(): Promise<void>;
}

/**
 * The verification of assertions. What it needs is loaded with the first one, or at the start if there is a cluster.
 */
export function openAssertions(
  config: DirectoryConfig,
  runtime: Pick<Runtime, 'database' | 'log' | 'clock'>,
  builtIn: BuiltInDeps,
): Assertions {
  const records = createAssertionRecords(runtime.database);
  const purge = startPurge(records, { what: 'used assertions', log: runtime.log });
  let opened: Promise<Verifier> | undefined;
  const found = { records, findBuiltIn: consoleAmong(builtIn, config.TESSERA_ISSUER ?? '') };
  const verifier = async () =>
    (opened ??= import('./verifier.ts').then(({ openVerifier }) => openVerifier(config, runtime, found)));
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

/** The console, which signs people in at every issuer of ours by tokens for the shared one: they have one audience. */
function consoleAmong(builtIn: BuiltInDeps, sharedIssuer: string): FindBuiltIn {
  return async (sent) => {
    const found = await consoleOfToken(sent, builtIn);
    const { identity } = builtIn.console;
    if (found === undefined || identity === undefined) return undefined;
    const { tenant } = found;
    return {
      clientId: sent.clientId,
      tenantId: tenant.tenantId,
      issuer: tenant.issuer,
      statuses: [tenant.status],
      publicKeys: [],
      jwksUri: '',
      trusts: [{ ...identity, audience: sharedIssuer, maxAge: 0, sharedIdentity: false }],
      trustedIssuer: identity.issuer,
      audience: sharedIssuer,
    };
  };
}
