import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, local, route } from '@tessera/rpc';
import type { BuiltService, CallerName, Client, Handlers } from '@tessera/rpc';
import {
  ApplicationType,
  ChangeKind,
  DirectoryService,
  Status,
  type User,
} from '@tessera/proto-gen/directory';
import { silentLog } from './silent-log.ts';

/** An application with the fields that services read, and the secret it authenticates with. */
export interface FakeApplication {
  clientId: string;
  tenantId: string;
  name: string;
  type: ApplicationType;
  status: Status;
  grantTypes: string[];
  redirectUris: string[];
  logoutRedirectUris: string[];
  scopes: { readonly name: string; readonly audience: string }[];
  introspectAudiences: string[];
  authenticatedStartRequired: boolean;
  allowedRoles: string[];
  pkceOptional: boolean;
  /** Seconds since the Unix epoch. */
  validFrom: bigint;
  /** Seconds. */
  lifetimes: {
    accessToken?: number;
    refreshTokenIdle?: number;
    refreshTokenAbsolute?: number;
    authorizationCode?: number;
    authorizationRequest?: number;
    pollInterval?: number;
  };
  ciba?: { approval?: string; url?: string; delivery?: string; notificationEndpoint?: string };
  secret: string;
  /** Seconds since the Unix epoch; 0 if it does not expire. */
  secretExpiresAt: bigint;
}

/** A user with the fields that services read, and a password. */
export interface FakeUser {
  userId: string;
  tenantId: string;
  username: string;
  email: string;
  phoneNumber: string;
  name: string;
  /** By claim name. */
  standardClaims?: NonNullable<User['standardClaims']>;
  roles: string[];
  password: string;
  status: Status;
  /** Seconds since the Unix epoch. */
  validFrom: bigint;
}

export interface FakeTenant {
  tenantId: string;
  name: string;
  status: Status;
  /** Empty if it is served at the shared issuer. */
  issuer: string;
}

interface Change {
  readonly sequence: bigint;
  readonly kind: ChangeKind;
  readonly tenantId: string;
  readonly id: string;
  readonly ended: boolean;
  readonly recordedAt: bigint;
}

/** One open stream of changes. */
interface Watcher {
  /** The last change that its reader has processed. */
  position: bigint;
  /** Whether it is to be sent its position. */
  isPositionDue: boolean;
  readonly wake: () => void;
}

type Edit<T> = Partial<T> | ((record: T) => void);

/** The secret of an application that was added without one. */
export const secretOf = (clientId: string): string => `${clientId}-secret-0123456789-0123456789`;

/** A reader that does not process a change within this time is not waited for. */
const longestWaitMs = 100;

/**
 * A directory in memory that behaves like the real one towards the services that read it. Its records can be changed while
 * it runs, and watchers receive the changes. It counts its calls, and can be slow, unavailable or disconnected.
 */
export class FakeDirectory {
  readonly tenants = new Map<string, FakeTenant>();
  readonly applications = new Map<string, FakeApplication>();
  /** By tenant and user id, with a space between. */
  readonly users = new Map<string, FakeUser>();
  /** Calls received, answered or not. */
  readonly calls = {
    getApplication: 0,
    verifyApplicationSecret: 0,
    getTenant: 0,
    listTenantIssuers: 0,
    getUser: 0,
    findUser: 0,
    verifyPassword: 0,
    watchChanges: 0,
  };
  /** The position that each watcher asked to resume from. */
  readonly watchedAfter: bigint[] = [];
  readonly client: Client<typeof DirectoryService>;
  /** Refuses all calls. Open streams stay open but send no position. */
  unavailable = false;
  /** Every response waits for this after its record was read, so it may be stale when it arrives. */
  hold: Promise<unknown> | undefined;
  /** Whether changes are withheld from watchers, as while the directory cannot read them. */
  isStalled = false;
  /** Changes up to this one are no longer on record: a watcher cannot resume before it. */
  forgotten = 0n;
  readonly #beatMs: number;
  #sequence = 1n;
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  #connections = new AbortController();

  /**
   * @param caller the service that reads it
   * @param beatMs how often watchers receive their position; 0: only with `beat`
   */
  constructor(caller: CallerName, beatMs = 500) {
    this.client = local(DirectoryService, this.#service(caller), caller, silentLog());
    this.#beatMs = beatMs;
  }

  addTenant(tenantId: string, fields: Partial<FakeTenant> = {}): void {
    this.tenants.set(tenantId, { tenantId, name: tenantId, status: Status.ACTIVE, issuer: '', ...fields });
  }

  /** Adds or replaces an application, without a change for watchers. */
  addApplication(clientId: string, fields: Partial<FakeApplication> = {}): void {
    this.applications.set(clientId, {
      clientId,
      tenantId: 'acme',
      name: clientId,
      type: ApplicationType.CONFIDENTIAL,
      status: Status.ACTIVE,
      grantTypes: [],
      redirectUris: [],
      logoutRedirectUris: [],
      scopes: [],
      introspectAudiences: [],
      authenticatedStartRequired: false,
      allowedRoles: [],
      pkceOptional: false,
      validFrom: 0n,
      lifetimes: {},
      secret: secretOf(clientId),
      secretExpiresAt: 0n,
      ...fields,
    });
  }

  /** Adds or replaces a user, without a change for watchers. */
  addUser(userId: string, fields: Partial<FakeUser> = {}): void {
    const user = {
      userId,
      tenantId: 'acme',
      username: userId,
      email: '',
      phoneNumber: '',
      name: '',
      roles: [],
      password: '',
      status: Status.ACTIVE,
      validFrom: 0n,
      ...fields,
    };
    this.users.set(`${user.tenantId} ${userId}`, user);
  }

  /** Changes an application and resolves when the watchers have processed the change. */
  async changeApplication(clientId: string, edit: Edit<FakeApplication>): Promise<void> {
    const application = edited(this.applications.get(clientId), edit);
    this.applications.set(clientId, application);
    await this.#announce(ChangeKind.APPLICATION, application.tenantId, clientId, application.status);
  }

  /** Changes the user with this id in `acme` or, if there is none, in another tenant; resolves as `changeApplication`. */
  async changeUser(userId: string, edit: Edit<FakeUser>): Promise<void> {
    const key = this.users.has(`acme ${userId}`)
      ? `acme ${userId}`
      : [...this.users.keys()].find((one) => one.endsWith(` ${userId}`));
    const user = edited(this.users.get(key ?? ''), edit);
    this.users.set(`${user.tenantId} ${userId}`, user);
    await this.#announce(ChangeKind.USER, user.tenantId, userId, user.status);
  }

  async changeTenant(tenantId: string, status: Status): Promise<void> {
    this.tenants.set(tenantId, edited(this.tenants.get(tenantId), { status }));
    await this.#announce(ChangeKind.TENANT, tenantId, '', status);
  }

  /** Sends a change to the watchers, whether or not a record changed. */
  sendChange(kind: ChangeKind, tenantId: string, id: string, status: Status = Status.ACTIVE): void {
    this.#sequence += 1n;
    const recordedAt = BigInt(Math.floor(Date.now() / 1000));
    const ended = status !== Status.ACTIVE;
    this.#changes.push({ sequence: this.#sequence, kind, tenantId, id, ended, recordedAt });
    for (const { wake } of this.#watchers) wake();
  }

  /** Sends all watchers their position, as the directory does twice a second while nothing changes. */
  beat(): void {
    for (const watcher of this.#watchers) this.#sendPosition(watcher);
  }

  /** Ends the streams of all watchers. */
  disconnect(): void {
    this.#connections.abort();
    this.#connections = new AbortController();
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Reads of records and secrets so far. */
  get reads(): number {
    return this.calls.getApplication + this.calls.getUser + this.calls.verifyApplicationSecret;
  }

  async #announce(kind: ChangeKind, tenantId: string, id: string, status: Status): Promise<void> {
    this.sendChange(kind, tenantId, id, status);
    const sequence = this.#sequence;
    for (let waited = 0; waited < longestWaitMs; waited += 1) {
      await pause(1);
      if ([...this.#watchers].every(({ position }) => position >= sequence)) return;
    }
  }

  #sendPosition(watcher: Watcher): void {
    if (this.unavailable) return;
    watcher.isPositionDue = true;
    watcher.wake();
  }

  #receive(method: keyof FakeDirectory['calls']): void {
    this.calls[method] += 1;
    if (this.unavailable) throw new ConnectError('the directory is unavailable', Code.Unavailable);
  }

  async #respond<T>(response: T): Promise<T> {
    await this.hold;
    return response;
  }

  #handlers(): Handlers<typeof DirectoryService> {
    return {
      getApplication: ({ clientId }) => {
        this.#receive('getApplication');
        const {
          secret: _secret,
          secretExpiresAt: _expiresAt,
          ...application
        } = found(this.applications.get(clientId));
        const tenant = found(this.tenants.get(application.tenantId));
        return this.#respond({ application: structuredClone(application), tenant: { ...tenant } });
      },
      verifyApplicationSecret: ({ clientId, clientSecret }) => {
        this.#receive('verifyApplicationSecret');
        const application = this.applications.get(clientId);
        const verified = application?.secret === clientSecret;
        return this.#respond({ verified, expiresAt: verified ? application.secretExpiresAt : 0n });
      },
      getTenant: ({ tenantId }) => {
        this.#receive('getTenant');
        return this.#respond({ tenant: { ...found(this.tenants.get(tenantId)) } });
      },
      listTenantIssuers: () => {
        this.#receive('listTenantIssuers');
        const issuers = [...this.tenants.values()].filter(({ issuer }) => issuer !== '');
        return this.#respond({ issuers: issuers.map(({ tenantId, issuer }) => ({ tenantId, issuer })) });
      },
      getUser: ({ tenantId, userId }) => {
        this.#receive('getUser');
        return this.#respond({ user: withoutPassword(found(this.users.get(`${tenantId} ${userId}`))) });
      },
      findUser: ({ tenantId, identifier }) => {
        this.#receive('findUser');
        return this.#respond({ user: withoutPassword(found(this.#userNamed(tenantId, identifier))) });
      },
      verifyPassword: ({ tenantId, identifier, password }) => {
        this.#receive('verifyPassword');
        const user = this.#userNamed(tenantId, identifier);
        if (user?.password !== password || user.status !== Status.ACTIVE) return this.#respond({});
        const signedInAtMs = BigInt(Math.max(Date.now(), Number(user.validFrom) * 1000));
        return this.#respond({ user: withoutPassword(user), signedInAtMs });
      },
      watchChanges: ({ afterSequence, since }, { signal }) => this.#watch(afterSequence, since, signal),
    };
  }

  #userNamed(tenantId: string, identifier: string): FakeUser | undefined {
    const name = identifier.trim().toLowerCase();
    return [...this.users.values()].find(
      (user) => user.tenantId === tenantId && [user.username, user.email, user.phoneNumber].includes(name),
    );
  }

  async *#watch(after: bigint, since: bigint, signal: AbortSignal) {
    this.watchedAfter.push(after);
    this.#receive('watchChanges');
    const ending = AbortSignal.any([signal, this.#connections.signal]);
    let wake: () => void = () => undefined;
    const position = this.#startOf(after, since);
    const watcher: Watcher = { position, isPositionDue: false, wake: () => wake() };
    this.#watchers.add(watcher);
    const beat = this.#beatMs > 0 && setInterval(() => this.#sendPosition(watcher), this.#beatMs);
    ending.addEventListener('abort', watcher.wake);
    try {
      yield positionAt(watcher.position);
      while (!ending.aborted) {
        const next = this.isStalled
          ? undefined
          : this.#changes.find(({ sequence }) => sequence > watcher.position);
        if (next !== undefined) {
          yield next;
          // The reader asks for more once it has processed the change.
          watcher.position = next.sequence;
        } else if (watcher.isPositionDue) {
          watcher.isPositionDue = false;
          yield positionAt(watcher.position);
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      if (beat !== false) clearInterval(beat);
      this.#watchers.delete(watcher);
    }
  }

  /** Where a stream starts: where it resumes, else before the first change since a time, else now. */
  #startOf(after: bigint, since: bigint): bigint {
    if (after > 0n && after >= this.forgotten && after <= this.#sequence) return after;
    const recent = this.#changes.find(({ recordedAt }) => after === 0n && since > 0n && recordedAt >= since);
    return recent === undefined ? this.#sequence : recent.sequence - 1n;
  }

  #service(caller: CallerName): BuiltService {
    const callers = [caller];
    return {
      name: 'directory',
      routes: [
        route(DirectoryService, this.#handlers(), {
          getApplication: callers,
          verifyApplicationSecret: callers,
          getTenant: callers,
          listTenantIssuers: callers,
          getUser: callers,
          findUser: callers,
          verifyPassword: callers,
          watchChanges: callers,
        }),
      ],
      ready: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
}

function positionAt(sequence: bigint) {
  return { sequence, kind: ChangeKind.UNSPECIFIED, tenantId: '', id: '' };
}

function found<T>(record: T | undefined): T {
  if (record === undefined) throw new ConnectError('not found', Code.NotFound);
  return record;
}

/** A changed copy: a record that a service has read stays as it was. */
function edited<T>(record: T | undefined, edit: Edit<T>): T {
  if (record === undefined) throw new Error('there is no such record');
  const copy = structuredClone(record);
  if (typeof edit === 'function') edit(copy);
  else Object.assign(copy as object, edit);
  return copy;
}

function withoutPassword({ password: _password, ...user }: FakeUser): Omit<FakeUser, 'password'> {
  return structuredClone(user);
}
