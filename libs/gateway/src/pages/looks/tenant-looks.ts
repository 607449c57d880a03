import { createHash } from 'node:crypto';
import { boundedCache, type Clock } from '@tessera/kit';
import { Code, ConnectError } from '@tessera/rpc';
import type { GetTenantLooksResponse } from '@tessera/proto-gen/directory';
import type { Logger } from '@tessera/telemetry';
import { styleSheet } from '@tessera/pages';

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
  /**
   * Whether people may make accounts, and are mailed links to choose new passwords; undefined if the directory does not
   * say.
   */
  readonly registers: boolean | undefined;
  readonly recovers: boolean | undefined;
  /** In characters; 0 if the directory does not say. */
  readonly passwordMinLength: number;
}

export interface TenantLooks {
  /**
   * Undefined for a tenant that is not known, and if the directory is unavailable and there is no copy: a page is shown
   * without them.
   */
  of(tenantId: string): Promise<Looks | undefined>;
  /** As `of`; `unknown` for a tenant that does not exist, undefined if that cannot be found out. */
  find(tenantId: string): Promise<Looks | 'unknown' | undefined>;
}

interface Copy {
  looks: Looks | undefined;
  isUnknown: boolean;
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
      copy.looks = looksOf(await fetch(tenantId));
      copy.isUnknown = false;
    } catch (error) {
      copy.isUnknown = error instanceof ConnectError && error.code === Code.NotFound;
      if (copy.isUnknown) copy.looks = undefined;
      else log.warn({ err: error }, 'cannot read the looks of a tenant');
    }
    copy.readAt = clock.now();
    copy.reading = undefined;
  }

  async function current(tenantId: string): Promise<Copy> {
    const none = { looks: undefined, isUnknown: false, readAt: -Infinity, reading: undefined };
    const copy = copies.get(tenantId) ?? none;
    copies.set(tenantId, copy);
    if (clock.now() - copy.readAt >= freshMs) await (copy.reading ??= read(tenantId, copy));
    return copy;
  }

  return {
    of: async (tenantId) => (await current(tenantId)).looks,
    async find(tenantId) {
      const { looks, isUnknown } = await current(tenantId);
      return isUnknown ? 'unknown' : looks;
    },
  };
}

function looksOf(answer: Omit<GetTenantLooksResponse, '$typeName'>): Looks {
  const { name, tosUri, policyUri, logo, registers, recovers, passwordMinLength } = answer;
  const css = styleSheet(answer);
  const version = createHash('sha256').update(css).update('\0').update(logo).digest('base64url').slice(0, 12);
  return {
    name,
    styleSheet: css,
    logo: logo.length === 0 ? undefined : Buffer.from(logo),
    version,
    tosUri,
    policyUri,
    registers,
    recovers,
    passwordMinLength,
  };
}

/**
 * How a page calls an organization: by its name, or by its identifier where it has none or the name cannot be found
 * out. A sign-in at a page of ours tells no name; the looks do, which the frame of the page has to have anyway.
 * @param told the name, if something else has told it
 */
export async function organizationName(
  { looks }: { readonly looks: TenantLooks },
  tenantId: string,
  told = '',
): Promise<string> {
  return told || (await looks.of(tenantId))?.name || tenantId;
}
