import { Code, ConnectError, local, route } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { ApplicationType, ChangeKind, DirectoryService, Status } from '@tessera/proto-gen/directory';
import { silentLog } from '@tessera/test-kit';

interface FakeApplication {
  tenantId: string;
  type: ApplicationType;
  status: Status;
  name: string;
  secret: string;
  secretExpiresAt: bigint;
}

interface FakeUser {
  userId: string;
  tenantId: string;
  status: Status;
  name: string;
}

interface FakeChange {
  sequence: bigint;
  kind: ChangeKind;
  tenantId: string;
  id: string;
}

/** A directory in memory that is told what changes, counts its calls, and can be made slow, away or cut off. */
export class FakeDirectory {
  readonly applications = new Map<string, FakeApplication>();
  readonly tenants = new Map<string, { name: string; status: Status }>();
  readonly users = new Map<string, FakeUser>();
  readonly calls = { getApplication: 0, verifyApplicationSecret: 0, getUser: 0, watchChanges: 0 };
  readonly watchedAfter: bigint[] = [];
  readonly client: Client<typeof DirectoryService>;
  /** Awaited by every answer after it was read: what is answered may be stale by then. */
  hold: Promise<unknown> | undefined;
  isAway = false;
  /** Whether a watcher's position is still on record. */
  canResume = true;
  /** Whether changes are kept from the watchers for now, as while the directory cannot read them. */
  isStalled = false;
  #sequence = 0n;
  #beats = 0;
  readonly #changes: FakeChange[] = [];
  #watching = new Set<() => void>();
  #cut = new AbortController();

  constructor() {
    this.tenants.set('acme', { name: 'Acme', status: Status.ACTIVE });
    this.tenants.set('globex', { name: 'Globex', status: Status.ACTIVE });
    this.client = local(DirectoryService, this.#built(), 'token', silentLog());
  }

  addApplication(clientId: string, fields: Partial<FakeApplication> = {}): void {
    const defaults = { tenantId: 'acme', type: ApplicationType.CONFIDENTIAL, status: Status.ACTIVE };
    const secret = { secret: `${clientId}-secret`, secretExpiresAt: 0n };
    this.applications.set(clientId, { ...defaults, ...secret, name: clientId, ...fields });
  }

  addUser(userId: string, tenantId = 'acme'): void {
    this.users.set(`${tenantId} ${userId}`, { userId, tenantId, status: Status.ACTIVE, name: userId });
  }

  tell(kind: ChangeKind, tenantId: string, id: string): void {
    this.#sequence += 1n;
    this.#changes.push({ sequence: this.#sequence, kind, tenantId, id });
    for (const wake of this.#watching) wake();
  }

  /** Tells all watchers their position, as the directory does twice a second while nothing changes. */
  beat(): void {
    this.#beats += 1;
    for (const wake of this.#watching) wake();
  }

  /** Ends the streams of all watchers. */
  cut(): void {
    this.#cut.abort();
    this.#cut = new AbortController();
    for (const wake of this.#watching) wake();
  }

  get watchers(): number {
    return this.#watching.size;
  }

  async #answer<T>(value: T): Promise<T> {
    if (this.isAway) throw temporarilyUnavailable();
    await this.hold;
    return value;
  }

  #built() {
    const notFound = () => Promise.reject(new ConnectError('not known', Code.NotFound));
    const everyone = ['token'] as const;
    const routes = [
      route(
        DirectoryService,
        {
          getApplication: ({ clientId }) => {
            this.calls.getApplication += 1;
            const found = this.applications.get(clientId);
            if (found === undefined) return notFound();
            const { tenantId, type, status, name } = found;
            const tenant = { tenantId, ...this.tenants.get(tenantId) };
            return this.#answer({ application: { clientId, tenantId, type, status, name }, tenant });
          },
          verifyApplicationSecret: ({ clientId, clientSecret }) => {
            this.calls.verifyApplicationSecret += 1;
            const found = this.applications.get(clientId);
            const verified = found?.secret === clientSecret;
            return this.#answer({ verified, expiresAt: verified ? found.secretExpiresAt : 0n });
          },
          getUser: ({ tenantId, userId }) => {
            this.calls.getUser += 1;
            const user = this.users.get(`${tenantId} ${userId}`);
            return user === undefined ? notFound() : this.#answer({ user });
          },
          findUser: notFound,
          verifyPassword: () => Promise.resolve({}),
          watchChanges: ({ afterSequence }, { signal }) => this.#watch(afterSequence, signal),
        },
        {
          getApplication: everyone,
          verifyApplicationSecret: everyone,
          getUser: everyone,
          findUser: everyone,
          verifyPassword: everyone,
          watchChanges: everyone,
        },
      ),
    ];
    const done = () => Promise.resolve();
    return { name: 'directory' as const, routes, ready: done, close: done };
  }

  async *#watch(after: bigint, signal: AbortSignal) {
    this.calls.watchChanges += 1;
    this.watchedAfter.push(after);
    if (this.isAway) throw temporarilyUnavailable();
    const ending = AbortSignal.any([signal, this.#cut.signal]);
    let position = after > 0n && this.canResume ? after : this.#sequence;
    let beats = this.#beats;
    let wake: () => void = () => undefined;
    const onWake = () => wake();
    this.#watching.add(onWake);
    ending.addEventListener('abort', onWake);
    try {
      yield { sequence: position, kind: ChangeKind.UNSPECIFIED };
      while (!ending.aborted) {
        const next = this.isStalled ? undefined : this.#changes.find((change) => change.sequence > position);
        if (next !== undefined) {
          position = next.sequence;
          yield next;
        } else if (beats !== this.#beats) {
          beats = this.#beats;
          yield { sequence: position, kind: ChangeKind.UNSPECIFIED };
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      this.#watching.delete(onWake);
    }
  }
}
