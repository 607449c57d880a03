import { createHash } from 'node:crypto';
import { boundedCache, type Clock } from '@tessera/kit';
import { Code, ConnectError, whereOffered } from '@tessera/rpc';
import type { GetTenantLooksResponse } from '@tessera/proto-gen/directory';
import type { Logger } from '@tessera/telemetry';
import { styleSheet } from './style-sheet.ts';

/** A copy younger than this is used without a call. */
const freshMs = 1_000;
/** Tenants whose looks are kept, at most 17 KiB each. */
const keptLooks = 500;

/** How the pages of a tenant look. */
export interface Looks {
  readonly name: string;
  /** CSS; empty if the colours are the usual ones. */
  readonly styleSheet: string;
  /** PNG; undefined without one. */
  readonly logo: Buffer | undefined;
  /** Names the content of `styleSheet` and `logo`, so that browsers may keep them. */
  readonly version: string;
  readonly tosUri: string;
  readonly policyUri: string;
}

export interface TenantLooks {
  /** Undefined for a tenant that is not known, and if the directory is unavailable and there is no copy: a page is shown without them. */
  of(tenantId: string): Promise<Looks | undefined>;
}

interface Copy {
  looks: Looks | undefined;
  readAt: number;
  reading: Promise<void> | undefined;
}

export function createTenantLooks(deps: {
  /** Asks the directory, with a deadline. */
  readonly fetch: (tenantId: string) => Promise<Omit<GetTenantLooksResponse, '$typeName'>>;
  readonly clock: Clock;
  readonly log: Logger;
}): TenantLooks {
  const { fetch, clock, log } = deps;
  const copies = boundedCache<Copy>(keptLooks);

  async function read(tenantId: string, copy: Copy): Promise<void> {
    try {
      // Compatibility until 0.3: a directory of version 0.1 does not know this call.
      const answer = await whereOffered(fetch(tenantId), () => undefined);
      copy.looks = answer && looksOf(answer);
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) copy.looks = undefined;
      else log.warn({ err: error }, 'cannot read the looks of a tenant');
    }
    copy.readAt = clock.now();
    copy.reading = undefined;
  }

  return {
    async of(tenantId) {
      const copy = copies.get(tenantId) ?? { looks: undefined, readAt: -Infinity, reading: undefined };
      copies.set(tenantId, copy);
      if (clock.now() - copy.readAt >= freshMs) await (copy.reading ??= read(tenantId, copy));
      return copy.looks;
    },
  };
}

function looksOf(answer: Omit<GetTenantLooksResponse, '$typeName'>): Looks {
  const { name, tosUri, policyUri, logo } = answer;
  const css = styleSheet(answer);
  const version = createHash('sha256').update(css).update('\0').update(logo).digest('base64url').slice(0, 12);
  return {
    name,
    styleSheet: css,
    logo: logo.length === 0 ? undefined : Buffer.from(logo),
    version,
    tosUri,
    policyUri,
  };
}
