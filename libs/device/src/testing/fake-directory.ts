import { EventEmitter, on } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, local, route } from '@tessera/rpc';
import type { BuiltService, Handlers, Client } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { ApplicationType, ChangeKind, DirectoryService, type Status } from '@tessera/proto-gen/directory';
import { silentLog } from '@tessera/test-kit';

export interface FakeApplication {
  readonly clientId: string;
  readonly tenantId: string;
  readonly name: string;
  type: ApplicationType;
  status: Status;
  grantTypes: string[];
  scopes: { name: string; audience: string }[];
  ciba: { approval: string; url: string; delivery?: string; notificationEndpoint?: string };
  lifetimes: { authorizationRequest?: number; pollInterval?: number };
  allowedRoles?: string[];
  validFrom?: bigint;
}

export interface FakeUser {
  readonly userId: string;
  readonly tenantId: string;
  readonly username: string;
  readonly email: string;
  readonly phoneNumber: string;
  status: Status;
  validFrom?: bigint;
  roles?: string[];
}

export const secretOf = (clientId: string): string => `${clientId}-secret-0123456789-0123456789`;

/** Long enough for a watcher to hear of a change. */
const heardMs = 20;

/** A directory in memory: records can be changed while it runs, and watchers hear of it. It can be taken away. */
export class FakeDirectory {
  readonly applications: FakeApplication[] = [];
  readonly users: FakeUser[] = [];
  readonly tenants = new Map<string, Status>();
  readonly client: Client<typeof DirectoryService> = local(
    DirectoryService,
    this.#service(),
    'device',
    silentLog(),
  );
  away = false;
  /** How many user look-ups by identifier there were. */
  searches = 0;
  readonly #changes = new EventEmitter();
  #sequence = 1n;

  async setUser(userId: string, status: Status): Promise<void> {
    const user = found(this.users.find((one) => one.userId === userId));
    user.status = status;
    await this.#tell(ChangeKind.USER, user.tenantId, userId);
  }

  /** Sign-ins before `validFrom` do not count any more. */
  async endSignIns(userId: string, validFrom: bigint): Promise<void> {
    const user = found(this.users.find((one) => one.userId === userId));
    user.validFrom = validFrom;
    await this.#tell(ChangeKind.USER, user.tenantId, userId);
  }

  async setRoles(userId: string, roles: string[]): Promise<void> {
    const user = found(this.users.find((one) => one.userId === userId));
    user.roles = roles;
    await this.#tell(ChangeKind.USER, user.tenantId, userId);
  }

  async setApplication(clientId: string, change: Partial<FakeApplication>): Promise<void> {
    const application = found(this.applications.find((one) => one.clientId === clientId));
    Object.assign(application, change);
    await this.#tell(ChangeKind.APPLICATION, application.tenantId, clientId);
  }

  async setTenant(tenantId: string, status: Status): Promise<void> {
    this.tenants.set(tenantId, status);
    await this.#tell(ChangeKind.TENANT, tenantId, '');
  }

  async #tell(kind: ChangeKind, tenantId: string, id: string): Promise<void> {
    this.#sequence += 1n;
    this.#changes.emit('change', { sequence: this.#sequence, kind, tenantId, id });
    await pause(heardMs);
  }

  async *#watch(signal: AbortSignal) {
    const position = () => ({ sequence: this.#sequence, kind: ChangeKind.UNSPECIFIED, tenantId: '', id: '' });
    const changes = on(this.#changes, 'change', { signal });
    const beat = setInterval(() => this.#changes.emit('change', position()), 500);
    try {
      yield position();
      for await (const [change] of changes) yield change as ReturnType<typeof position>;
    } finally {
      clearInterval(beat);
    }
  }

  #present(): void {
    if (this.away) throw temporarilyUnavailable('the directory is away');
  }

  #handlers(): Handlers<typeof DirectoryService> {
    return {
      getApplication: ({ clientId }) => {
        this.#present();
        const application = found(this.applications.find((one) => one.clientId === clientId));
        const { tenantId } = application;
        const status = found(this.tenants.get(tenantId));
        return { application: structuredClone(application), tenant: { tenantId, name: tenantId, status } };
      },
      verifyApplicationSecret: ({ clientId, clientSecret }) => {
        this.#present();
        const application = this.applications.find((one) => one.clientId === clientId);
        const hasSecret = application?.type === ApplicationType.CONFIDENTIAL;
        return { verified: hasSecret && clientSecret === secretOf(clientId) };
      },
      getUser: ({ tenantId, userId }) => {
        this.#present();
        const user = this.users.find((one) => one.tenantId === tenantId && one.userId === userId);
        return { user: { ...found(user), name: userId } };
      },
      findUser: ({ tenantId, identifier }) => {
        this.#present();
        this.searches += 1;
        const name = identifier.trim().toLowerCase();
        const user = this.users.find(
          (one) => one.tenantId === tenantId && [one.username, one.email, one.phoneNumber].includes(name),
        );
        return { user: { ...found(user), name: identifier } };
      },
      verifyPassword: () => ({}),
      watchChanges: (_request, context) => this.#watch(context.signal),
    };
  }

  #service(): BuiltService {
    const readers = ['device'] as const;
    const allow = {
      getApplication: readers,
      verifyApplicationSecret: readers,
      getUser: readers,
      findUser: readers,
      verifyPassword: readers,
      watchChanges: readers,
    };
    return {
      name: 'directory',
      routes: [route(DirectoryService, this.#handlers(), allow)],
      ready: async () => undefined,
      close: async () => undefined,
    };
  }
}

function found<T>(record: T | undefined): T {
  if (record === undefined) throw new ConnectError('not found', Code.NotFound);
  return record;
}
