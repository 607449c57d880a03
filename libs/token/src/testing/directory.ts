import { EventEmitter, on } from 'node:events';
import { Code, ConnectError } from '@tessera/rpc';
import { ApplicationType, ChangeKind, DirectoryService, Status } from '@tessera/proto-gen/directory';
import { fakePeer, throughLine, type Line } from './fake.ts';

export const orders = 'https://orders.acme.example';
export const billing = 'https://billing.acme.example';
export const secretOf = (clientId: string): string => `${clientId}-secret-0123456789-0123456789`;

interface Scope {
  readonly name: string;
  readonly audience: string;
}

/** The fields of an application that tokens depend on. */
interface ApplicationFields {
  clientId: string;
  tenantId: string;
  type: ApplicationType;
  status: Status;
  grantTypes: string[];
  scopes: Scope[];
  introspectAudiences: string[];
  ciba?: { delivery: string };
  lifetimes: { accessToken?: number; refreshTokenIdle?: number; refreshTokenAbsolute?: number };
  validFrom: bigint;
  allowedRoles?: string[];
}

interface UserFields {
  userId: string;
  tenantId: string;
  status: Status;
  name: string;
  email: string;
  phoneNumber: string;
  roles: string[];
  validFrom: bigint;
}

const scope = (name: string, audience = ''): Scope => ({ name, audience });
const identity = ['openid', 'profile', 'email', 'phone', 'offline_access'].map((name) => scope(name));
const ordersScopes = [scope('orders.read', orders), scope('orders.write', orders)];
const everyGrant = ['authorization_code', 'client_credentials', 'refresh_token', 'device_code', 'ciba'];

const applications: (Partial<ApplicationFields> & { clientId: string })[] = [
  { clientId: 'web', grantTypes: everyGrant, scopes: [...identity, ...ordersScopes] },
  { clientId: 'other', grantTypes: everyGrant, scopes: [...identity, ...ordersScopes] },
  {
    clientId: 'spa',
    type: ApplicationType.PUBLIC,
    grantTypes: everyGrant,
    scopes: [...identity, ...ordersScopes],
  },
  {
    clientId: 'service',
    grantTypes: ['client_credentials'],
    scopes: [...ordersScopes, scope('billing.read', billing)],
  },
  { clientId: 'no-refresh', grantTypes: ['authorization_code'], scopes: [...identity, ...ordersScopes] },
  { clientId: 'introspecting', grantTypes: ['client_credentials'], scopes: [scope('tokens.introspect')] },
  { clientId: 'orders-api', grantTypes: [], scopes: [], introspectAudiences: [orders] },
  {
    clientId: 'globex-web',
    tenantId: 'globex',
    grantTypes: everyGrant,
    scopes: identity,
    introspectAudiences: [orders],
  },
];

const users: (Partial<UserFields> & { userId: string })[] = [
  {
    userId: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@acme.example',
    phoneNumber: '+46701234567',
    roles: ['clerk'],
  },
  { userId: 'bob' },
];

/** Records that a test may change; a change is announced at once. */
export class FakeDirectory {
  readonly line: Line = { cut: false };
  readonly tenants = new Map<string, { tenantId: string; status: Status }>();
  readonly applications = new Map<string, ApplicationFields>();
  readonly users = new Map<string, UserFields>();
  readonly #changes = new EventEmitter();
  /** Reads answered so far. */
  reads = 0;

  constructor() {
    for (const tenantId of ['acme', 'globex']) {
      this.tenants.set(tenantId, { tenantId, status: Status.ACTIVE });
    }
    for (const fields of applications)
      this.applications.set(fields.clientId, { ...applicationDefaults(), ...fields });
    for (const fields of users) this.users.set(`acme ${fields.userId}`, { ...userDefaults(), ...fields });
  }

  /** Changes an application and resolves when the change was announced. */
  async changeApplication(clientId: string, change: (record: ApplicationFields) => void): Promise<void> {
    const record = structuredClone(this.applications.get(clientId));
    if (record === undefined) throw new Error('unknown application');
    change(record);
    this.applications.set(clientId, record);
    await this.#announce(ChangeKind.APPLICATION, record.tenantId, clientId, record.status);
  }

  async changeUser(userId: string, change: (record: UserFields) => void): Promise<void> {
    const record = structuredClone(this.users.get(`acme ${userId}`));
    if (record === undefined) throw new Error('unknown user');
    change(record);
    this.users.set(`acme ${userId}`, record);
    await this.#announce(ChangeKind.USER, 'acme', userId, record.status);
  }

  async changeTenant(tenantId: string, status: Status): Promise<void> {
    this.tenants.set(tenantId, { tenantId, status });
    await this.#announce(ChangeKind.TENANT, tenantId, '', status);
  }

  async #announce(kind: ChangeKind, tenantId: string, id: string, status: Status): Promise<void> {
    this.#sequence += 1n;
    const ended = status !== Status.ACTIVE;
    const recordedAt = BigInt(Math.floor(Date.now() / 1000));
    const change = { sequence: this.#sequence, kind, tenantId, id, ended, recordedAt };
    this.#record.push(change);
    this.#changes.emit('change', change);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  #sequence = 1n;
  readonly #record: ChangeFields[] = [];
  /** Changes up to this one are not on record any more. */
  forgotten = 0n;

  peer() {
    return fakePeer(DirectoryService, 'directory', {
      getApplication: ({ clientId }) => {
        this.#read();
        const application = this.applications.get(clientId);
        const tenant = this.tenants.get(application?.tenantId ?? '');
        if (application === undefined || tenant === undefined) throw notFound();
        return { application, tenant };
      },
      getUser: ({ tenantId, userId }) => {
        this.#read();
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user === undefined) throw notFound();
        return { user };
      },
      verifyApplicationSecret: ({ clientId, clientSecret }) => {
        this.#read();
        return {
          verified: this.applications.has(clientId) && clientSecret === secretOf(clientId),
          expiresAt: 0n,
        };
      },
      watchChanges: ({ afterSequence, since }, { signal }) => this.#watch(afterSequence, since, signal),
    });
  }

  #read(): void {
    throughLine(this.line);
    this.reads += 1;
  }

  async *#watch(after: bigint, since: bigint, signal: AbortSignal) {
    throughLine(this.line);
    const resumes = after > 0n && after >= this.forgotten && after <= this.#sequence;
    const recent = this.#record.find(({ recordedAt }) => after === 0n && since > 0n && recordedAt >= since);
    const start = resumes ? after : recent === undefined ? this.#sequence : recent.sequence - 1n;
    const position = (sequence: bigint) => ({ sequence, kind: ChangeKind.UNSPECIFIED, tenantId: '', id: '' });
    const changes = on(this.#changes, 'change', { signal });
    const beat = setInterval(() => {
      if (!this.line.cut) this.#changes.emit('change', position(this.#sequence));
    }, 500);
    try {
      yield position(start);
      for (const change of this.#record) if (change.sequence > start) yield change;
      for await (const [change] of changes) yield change as ReturnType<typeof position>;
    } finally {
      clearInterval(beat);
    }
  }
}

interface ChangeFields {
  readonly sequence: bigint;
  readonly kind: ChangeKind;
  readonly tenantId: string;
  readonly id: string;
  readonly ended: boolean;
  readonly recordedAt: bigint;
}

function applicationDefaults() {
  const lists = { grantTypes: [], scopes: [], introspectAudiences: [] };
  return {
    tenantId: 'acme',
    type: ApplicationType.CONFIDENTIAL,
    status: Status.ACTIVE,
    lifetimes: {},
    validFrom: 0n,
    ...lists,
  };
}

function userDefaults() {
  const empty = { name: '', email: '', phoneNumber: '', roles: [] };
  return { tenantId: 'acme', status: Status.ACTIVE, validFrom: 0n, ...empty };
}

function notFound(): ConnectError {
  return new ConnectError('not found', Code.NotFound);
}
