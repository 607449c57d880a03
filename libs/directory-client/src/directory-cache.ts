import { Code, ConnectError } from '@tessera/rpc';
import { type Clock } from '@tessera/kit';
import type { CallOptions, Client } from '@tessera/rpc';
import {
  ChangeKind,
  type DirectoryService,
  type Tenant,
  type User,
  type WatchChangesResponse,
} from '@tessera/proto-gen/directory';
import { RecordCache } from './record-cache.ts';
import type { ApplicationRecord } from './directory-client-types.ts';

/** Of each kind of record; an application takes about 2 KB. */
const capacity = 25_000;

/** The form of a registered identifier; anything else is unknown without a call. */
const plausibleId = /^[\x21-\x7e]{1,128}$/;

export interface DirectoryCacheDeps {
  readonly directory: Client<typeof DirectoryService>;
  readonly clock: Clock;
  /** The current maximum age of a record, in milliseconds. */
  readonly maxAge: () => number;
}

/** A cache of applications, users and tenants by their ids. */
export class DirectoryCache {
  readonly #directory: Client<typeof DirectoryService>;
  readonly #applications: RecordCache<ApplicationRecord>;
  readonly #users: RecordCache<User>;
  readonly #tenants: RecordCache<Tenant>;

  constructor({ directory, clock, maxAge }: DirectoryCacheDeps) {
    this.#directory = directory;
    this.#applications = new RecordCache({ clock, maxAge, capacity });
    this.#users = new RecordCache({ clock, maxAge, capacity });
    this.#tenants = new RecordCache({ clock, maxAge, capacity });
  }

  async application(clientId: string, call: CallOptions): Promise<ApplicationRecord | undefined> {
    if (!plausibleId.test(clientId)) return undefined;
    return this.#applications.get(clientId, call, async (shared) => {
      const found = await unlessNotFound(this.#directory.getApplication({ clientId }, shared));
      if (found?.application === undefined || found.tenant === undefined) return undefined;
      return { application: found.application, tenant: found.tenant };
    });
  }

  hasApplication(clientId: string): boolean {
    return this.#applications.has(clientId);
  }

  async user(tenantId: string, userId: string, call: CallOptions): Promise<User | undefined> {
    if (!plausibleId.test(tenantId) || !plausibleId.test(userId)) return undefined;
    return this.#users.get(userKey(tenantId, userId), call, async (shared) => {
      const found = await unlessNotFound(this.#directory.getUser({ tenantId, userId }, shared));
      return found?.user;
    });
  }

  async tenant(tenantId: string, call: CallOptions): Promise<Tenant | undefined> {
    if (!plausibleId.test(tenantId)) return undefined;
    return this.#tenants.get(tenantId, call, async (shared) => {
      const found = await unlessNotFound(this.#directory.getTenant({ tenantId }, shared));
      return found?.tenant;
    });
  }

  drop({ kind, tenantId, id }: WatchChangesResponse): void {
    if (kind === ChangeKind.USER) this.#users.drop(userKey(tenantId, id));
    else if (kind === ChangeKind.APPLICATION) this.#applications.drop(id);
    else {
      this.#tenants.drop(tenantId);
      this.#applications.dropWhere((record) => record.tenant.tenantId === tenantId);
      this.#users.dropWhere((user) => user.tenantId === tenantId);
    }
  }

  clear(): void {
    this.#applications.clear();
    this.#users.clear();
    this.#tenants.clear();
  }
}

function userKey(tenantId: string, userId: string): string {
  return `${tenantId} ${userId}`;
}

async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}
