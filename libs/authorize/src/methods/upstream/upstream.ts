import type { AuditBatch } from '@tessera/audit';
import type { Runtime } from '@tessera/process';
import { createFetch, createPlaces } from '@tessera/outbound';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import { createProviderAudit, type ProviderAudit } from './provider-audit.ts';
import { createProviderExchange, type ProviderExchange } from './provider-exchange.ts';
import { createMetadataCache } from './provider-metadata.ts';
import type { Reach } from './provider.ts';
import { createTenantProviders, type TenantProviders } from './tenant-providers.ts';
import { createUsedValues, type UsedValues } from './used-values.postgres.ts';

/** What sign-ins with providers work with. */
export interface Upstream {
  readonly exchange: ProviderExchange;
  readonly tenantProviders: TenantProviders;
  readonly usedValues: UsedValues;
  readonly audit: ProviderAudit;
  readonly reach: Reach;
}

const timeoutMs = 3_000;
const longestBytes = 512 * 1024;

export function createUpstream(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly runtime: Pick<Runtime, 'database' | 'clock' | 'random'>;
  readonly batch: AuditBatch;
  /** Whether providers may be at addresses that are not public, and without TLS. */
  readonly allowPrivate: boolean;
  /** How long an answer may take: no visit lives longer. */
  readonly visitSeconds: number;
}): Upstream {
  const { directoryService, runtime, batch, allowPrivate, visitSeconds } = deps;
  const { clock, random } = runtime;
  const places = createPlaces(clock);
  const fetch = createFetch({ places, allowPrivate, timeoutMs, longestBytes });
  const find = createMetadataCache({ fetch, allowInsecure: allowPrivate, clock });
  const reach: Reach = { find, fetch, places, allowInsecure: allowPrivate };
  const usedValues = createUsedValues(runtime.database);
  return {
    exchange: createProviderExchange({ directoryService, usedValues, reach, visitSeconds, random, clock }),
    tenantProviders: createTenantProviders({ directoryService, clock }),
    usedValues,
    audit: createProviderAudit(batch),
    reach,
  };
}
