import { readFile } from 'node:fs/promises';
import { createFetch, createPlaces } from '@tessera/outbound';
import { allowsPrivate, type Runtime } from '@tessera/process';
import { limitRepeats } from '@tessera/telemetry';
import { parseIssuerKeys, type DirectoryConfig } from '../config.ts';
import type { AssertionRecords } from './assertion-records.postgres.ts';
import { KeySets } from './key-sets.ts';
import { createKeySources } from './key-sources.ts';
import { createTokenReview } from './token-review.ts';
import { createVerifyAssertion, type FindBuiltIn, type VerifyAssertion } from './verify-assertion.ts';

/** Two requests, one after the other, fit in the time of a call. */
const timeoutMs = 2_000;
/** Some eighty keys of 4,096 bits, without certificates. */
const longestBytes = 64 * 1024;

export interface Verifier {
  readonly verify: VerifyAssertion;
  /** Asks the cluster for its issuer and keys, if that is due. */
  lookUpCluster(): Promise<void>;
}

/** What verifies assertions, with the keys that it needs. */
export function openVerifier(
  config: DirectoryConfig,
  { log, clock }: Pick<Runtime, 'log' | 'clock'>,
  found: { readonly records: AssertionRecords; readonly findBuiltIn: FindBuiltIn },
): Verifier {
  const places = createPlaces(clock);
  const bounds = { places, timeoutMs, longestBytes };
  const isPrivate = allowsPrivate(config, 'issuers');
  const folder = config.TESSERA_KUBERNETES_CREDENTIALS;
  const address = config.TESSERA_KUBERNETES_API;
  const authority = () => readFile(`${folder}/ca.crt`, 'utf8');
  const cluster =
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
        };
  const sources = createKeySources({
    configured: parseIssuerKeys(config.TESSERA_TRUSTED_ISSUER_KEYS) ?? new Map(),
    allowsPrivate: isPrivate,
    fetch: createFetch({ ...bounds, allowPrivate: isPrivate }),
    fetchConfigured: createFetch({ ...bounds, allowPrivate: true }),
    cluster,
  });
  const keySets = new KeySets({ clock, places, warnings: limitRepeats(log) });
  const isReviewed = cluster !== undefined && config.TESSERA_KUBERNETES_TOKEN_REVIEW;
  return {
    verify: createVerifyAssertion({
      ...found,
      sources,
      keySets,
      review: isReviewed ? createTokenReview({ ...cluster, places }) : undefined,
      clock,
      sharedIssuer: config.TESSERA_ISSUER ?? '',
    }),
    async lookUpCluster() {
      if (sources.cluster !== undefined) await keySets.get(sources.cluster, { ipAddress: '', tenantId: '' });
    },
  };
}
