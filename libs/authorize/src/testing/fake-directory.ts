import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, local, route } from '@tessera/rpc';
import type { BuiltService, CallContext, Handlers, Client } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { ApplicationType, ChangeKind, DirectoryService, Status } from '@tessera/proto-gen/directory';
import { silentLog } from '@tessera/test-kit';

export interface FakeApplication {
  readonly clientId: string;
  readonly tenantId: string;
  readonly name: string;
  status: Status;
  grantTypes: string[];
  redirectUris: string[];
  logoutRedirectUris: string[];
  scopes: { name: string; audience: string }[];
  validFrom: bigint;
  allowedRoles: string[];
  lifetimes?: { authorizationCode: number };
}

export interface FakeUser {
  readonly userId: string;
  readonly tenantId: string;
  readonly username: string;
  readonly email: string;
  readonly phoneNumber: string;
  readonly name: string;
  roles: string[];
  password: string;
  status: Status;
  validFrom: bigint;
}

interface FakeTenant {
  readonly tenantId: string;
  readonly name: string;
  status: Status;
}

interface Change {
  readonly kind: ChangeKind;
  readonly tenantId: string;
  readonly id: string;
}

/** In milliseconds: how often watchers look, and how long a change may take to reach them. */
const lookMs = 5;
const heardMs = 30;

/**
 * A directory in memory that behaves like the real one towards its readers: records can be changed while it runs, and
 * watchers hear of it. It can be taken away.
 */
export class FakeDirectory {
  readonly applications: FakeApplication[] = [];
  readonly users: FakeUser[] = [];
  readonly tenants: FakeTenant[] = [];
  readonly client: Client<typeof DirectoryService> = local(
    DirectoryService,
    this.#service(),
    'authorize',
    silentLog(),
  );
  /** How many passwords were really compared. */
  passwordChecks = 0;
  /** How often a person was looked for by an identifier. */
  lookups = 0;
  away = false;
  readonly #changes: Change[] = [];

  /** As of the version before, which ends nothing by a change that is taken back. */
  async setUser(userId: string, status: Status): Promise<void> {
    await this.changeUser(userId, { status });
  }

  async changeUser(
    userId: string,
    change: Partial<Pick<FakeUser, 'status' | 'password' | 'validFrom' | 'roles'>>,
  ): Promise<void> {
    const user = find(this.users, (one) => one.userId === userId);
    Object.assign(user, change);
    await this.#tell({ kind: ChangeKind.USER, tenantId: user.tenantId, id: userId });
  }

  async setApplication(clientId: string, change: Partial<FakeApplication>): Promise<void> {
    const application = find(this.applications, (one) => one.clientId === clientId);
    Object.assign(application, change);
    await this.#tell({ kind: ChangeKind.APPLICATION, tenantId: application.tenantId, id: clientId });
  }

  async setTenant(tenantId: string, status: Status): Promise<void> {
    find(this.tenants, (one) => one.tenantId === tenantId).status = status;
    await this.#tell({ kind: ChangeKind.TENANT, tenantId, id: '' });
  }

  async #tell(change: Change): Promise<void> {
    this.#changes.push(change);
    await pause(heardMs);
  }

  #present(): void {
    if (this.away) throw temporarilyUnavailable('the directory is away');
  }

  async *#watch({ signal }: CallContext) {
    let next = this.#changes.length;
    for (let looks = 0; !signal.aborted; looks += 1) {
      if (looks % 100 === 0) yield { sequence: BigInt(next), kind: ChangeKind.UNSPECIFIED };
      for (; next < this.#changes.length; next += 1) {
        yield { ...this.#changes[next], sequence: BigInt(next + 1) };
      }
      await pause(lookMs);
    }
  }

  #handlers(): Handlers<typeof DirectoryService> {
    return {
      getApplication: ({ clientId }) => {
        this.#present();
        const application = find(this.applications, (one) => one.clientId === clientId);
        const tenant = find(this.tenants, (one) => one.tenantId === application.tenantId);
        return {
          application: { ...structuredClone(application), type: ApplicationType.PUBLIC },
          tenant: { ...tenant },
        };
      },
      verifyApplicationSecret: () => ({ verified: false }),
      getUser: ({ tenantId, userId }) => {
        this.#present();
        const user = find(this.users, (one) => one.tenantId === tenantId && one.userId === userId);
        return { user: publicUser(user) };
      },
      findUser: ({ tenantId, identifier }) => {
        this.#present();
        this.lookups += 1;
        return { user: publicUser(find(this.users, named(tenantId, identifier))) };
      },
      verifyPassword: ({ tenantId, identifier, password }) => {
        this.#present();
        this.passwordChecks += 1;
        const user = this.users.find(named(tenantId, identifier));
        const right = user?.password === password && user.status === Status.ACTIVE;
        if (!right) return {};
        const signedInAtMs = BigInt(Math.max(Date.now(), Number(user.validFrom) * 1000));
        return { user: publicUser(user), signedInAtMs };
      },
      watchChanges: (_request, context) => this.#watch(context),
    };
  }

  #service(): BuiltService {
    const readers = ['authorize'] as const;
    return {
      name: 'directory',
      routes: [
        route(DirectoryService, this.#handlers(), {
          getApplication: readers,
          verifyApplicationSecret: readers,
          getUser: readers,
          findUser: readers,
          verifyPassword: readers,
          watchChanges: readers,
        }),
      ],
      ready: async () => undefined,
      close: async () => undefined,
    };
  }
}

function find<T>(records: readonly T[], test: (record: T) => boolean): T {
  const found = records.find(test);
  if (found === undefined) throw new ConnectError('not found', Code.NotFound);
  return found;
}

function named(tenantId: string, identifier: string) {
  const name = identifier.toLowerCase();
  return (user: FakeUser): boolean =>
    user.tenantId === tenantId && [user.username, user.email, user.phoneNumber].includes(name);
}

function publicUser({ password: _password, ...user }: FakeUser) {
  return structuredClone(user);
}
