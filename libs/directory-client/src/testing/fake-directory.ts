import { ChangeKind, DirectoryService, Status } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type CallerName, type Client, type Handlers } from '@tessera/rpc';
import { fakeClient } from '@tessera/rpc/testing';
import { FakeDirectoryChanges } from './fake-directory-changes.ts';
import { FakeMailCodes } from './fake-mail-codes.ts';
import { fakePerson, noteOwnChange, type AnnouncedSignIn, type OwnChange } from './fake-person.ts';
import { FakeProviders } from './fake-providers.ts';
import {
  edited,
  newApplication,
  newTenant,
  newUser,
  userMessage,
  type Edit,
  type FakeApplication,
  type FakeTenant,
  type FakeUser,
} from './fake-records.ts';
import { FakeWaysIn, signedIn } from './fake-ways-in.ts';

export type { FakeProvider } from './fake-providers.ts';
export { secretOf, type FakeApplication, type FakeTenant, type FakeUser } from './fake-records.ts';
export { enrolmentCode, passkeyAnswer } from './fake-ways-in.ts';

type Calls = Handlers<typeof DirectoryService>;

/** What an assertion proves; by default it counts once. */
export interface FakeAssertion {
  readonly clientId: string;
  readonly refusal?: string;
  readonly reusableUntilMs?: bigint;
}

/**
 * A directory in memory that behaves like the real one towards the services that read it. Its records can be changed
 * while it runs, and watchers receive the changes. It counts its calls, and can be slow, unavailable or disconnected.
 */
export class FakeDirectory {
  readonly tenants = new Map<string, FakeTenant>();
  readonly applications = new Map<string, FakeApplication>();
  /** By tenant and user id, with a space between. */
  readonly users = new Map<string, FakeUser>();
  readonly providers = new FakeProviders();
  readonly mailCodes = new FakeMailCodes<FakeUser>();
  /** Whether it is of the previous version, which has no proposals of recovery codes. */
  isEarlier = false;
  readonly announcedSignIns: AnnouncedSignIn[] = [];
  readonly notedSignIns: string[] = [];
  readonly announcedWrongCodes: string[] = [];
  /** What people asked to change of what is theirs, carried out or not. */
  readonly ownChanges: OwnChange[] = [];
  /** Addresses that people said are theirs. */
  readonly proposedAddresses: string[] = [];
  /** Calls received by each method, answered or not. */
  readonly calls = Object.fromEntries(
    DirectoryService.methods.map(({ localName }) => [localName, 0]),
  ) as Record<keyof Calls, number>;
  /** Sends the changes to watchers. Open streams send no position while the directory is unavailable. */
  readonly changes: FakeDirectoryChanges;
  readonly client: Client<typeof DirectoryService>;
  readonly person = fakePerson(this);
  /** Refuses all calls. Open streams stay open. */
  unavailable = false;
  /** Assertions that prove something, or are refused; any other is `assertion_trust`. */
  readonly assertions = new Map<string, FakeAssertion>();
  /** The algorithms that resources at the shared issuer declare. */
  sharedAlgorithms: string[] = [];
  readonly #waysIn = new FakeWaysIn(this);
  /** Reads wait for this after the record was read, so the response may be stale when it arrives. */
  hold: Promise<unknown> | undefined;
  /**
   * @param caller the service that reads it
   * @param beatMs how often watchers receive their position; 0: only with `changes.beat`
   */
  constructor(caller: CallerName, beatMs = 500) {
    this.client = fakeClient(DirectoryService, this.#answers(), {
      as: caller,
      received: (method, request) => this.#receive(method as keyof Calls, request),
    });
    this.changes = new FakeDirectoryChanges(beatMs, () => !this.unavailable);
  }

  addTenant(tenantId: string, fields: Partial<FakeTenant> = {}): void {
    this.tenants.set(tenantId, newTenant(tenantId, fields));
  }

  /** Adds or replaces an application, without a change for watchers. */
  addApplication(clientId: string, fields: Partial<FakeApplication> = {}): void {
    this.applications.set(clientId, newApplication(clientId, fields));
  }

  /** Adds or replaces a user, without a change for watchers. */
  addUser(userId: string, fields: Partial<FakeUser> = {}): void {
    const user = newUser(userId, fields);
    this.users.set(`${user.tenantId} ${userId}`, user);
  }

  /** Changes an application and resolves when the watchers have processed the change. */
  async changeApplication(clientId: string, edit: Edit<FakeApplication>): Promise<void> {
    const application = edited(this.applications.get(clientId), edit);
    this.applications.set(clientId, application);
    await this.changes.sendAndWait(
      ChangeKind.APPLICATION,
      application.tenantId,
      clientId,
      application.status,
    );
  }

  /**
   * Changes the user with this id in `acme` or, if there is none, in another tenant; resolves as `changeApplication`.
   */
  async changeUser(userId: string, edit: Edit<FakeUser>): Promise<void> {
    const key = this.users.has(`acme ${userId}`)
      ? `acme ${userId}`
      : [...this.users.keys()].find((one) => one.endsWith(` ${userId}`));
    const user = edited(this.users.get(key ?? ''), edit);
    this.users.set(`${user.tenantId} ${userId}`, user);
    await this.changes.sendAndWait(ChangeKind.USER, user.tenantId, userId, user.status);
  }

  async changeTenant(tenantId: string, status: Status): Promise<void> {
    this.tenants.set(tenantId, edited(this.tenants.get(tenantId), { status }));
    await this.changes.sendAndWait(ChangeKind.TENANT, tenantId, '', status);
  }

  /** Reads of records and secrets so far. */
  get reads(): number {
    const { getApplication, getUser, verifyApplicationSecret, verifyClientAssertion } = this.calls;
    return getApplication + getUser + verifyApplicationSecret + verifyClientAssertion;
  }

  #receive(method: keyof Calls, request: unknown): void {
    this.calls[method] += 1;
    noteOwnChange(this, method, request);
    if (this.unavailable) throw new ConnectError('the directory is unavailable', Code.Unavailable);
  }

  async #respond<T>(response: T): Promise<T> {
    await this.hold;
    return response;
  }

  #answers(): Partial<Calls> {
    return {
      ...this.#reads(),
      ...this.#waysIn.calls(),
      ...this.mailCodes.calls(
        (tenantId, name) => this.users.get(`${tenantId} ${name}`) ?? this.#userNamed(tenantId, name),
        userMessage,
      ),
      ...this.#identities(),
      proposeEmail: ({ tenantId, userId, email }) => {
        found(this.users.get(`${tenantId} ${userId}`));
        if (!email.includes('@')) throw new ConnectError('no address', Code.InvalidArgument);
        this.proposedAddresses.push(email);
        return {};
      },
      watchChanges: ({ afterSequence, since }, { signal }) => {
        this.changes.watchedAfter.push(afterSequence);
        return this.changes.watch(afterSequence, since, signal);
      },
    };
  }

  #reads(): Partial<Calls> {
    return {
      getApplication: ({ clientId }) => {
        const application = found(this.applications.get(clientId));
        const tenant = found(this.tenants.get(application.tenantId));
        return this.#respond({ application: structuredClone(application), tenant: { ...tenant } });
      },
      verifyApplicationSecret: ({ clientId, clientSecret }) => {
        const application = this.applications.get(clientId);
        const verified = application?.secret === clientSecret;
        return this.#respond({ verified, expiresAt: verified ? application.secretExpiresAt : 0n });
      },
      verifyClientAssertion: ({ assertion, clientId: sent }) => {
        const proved = this.assertions.get(assertion) ?? { clientId: '', refusal: 'assertion_trust' };
        const tenantId = this.applications.get(proved.clientId)?.tenantId ?? '';
        const refusal = ['', proved.clientId].includes(sent) ? {} : { refusal: 'assertion_subject' };
        return this.#respond({ ...proved, ...refusal, tenantId });
      },
      getTenant: ({ tenantId }) => this.#respond({ tenant: { ...found(this.tenants.get(tenantId)) } }),
      listTenantIssuers: () => {
        const issuers = [...this.tenants.values()].filter(({ issuer }) => issuer !== '');
        return this.#respond({ issuers, sharedSigningAlgorithms: this.sharedAlgorithms });
      },
      getUser: ({ tenantId, userId }) =>
        this.#respond({ user: userMessage(found(this.users.get(`${tenantId} ${userId}`))) }),
      batchGetUsers: ({ tenantId, userIds }) => {
        const known = userIds.flatMap((userId) => this.users.get(`${tenantId} ${userId}`) ?? []);
        return this.#respond({ users: known.map(userMessage) });
      },
      findUser: ({ tenantId, identifier }) =>
        this.#respond({ user: userMessage(found(this.#userNamed(tenantId, identifier))) }),
      verifyPassword: ({ tenantId, identifier, password }) => {
        const user = this.#userNamed(tenantId, identifier);
        const verified = user?.password === password && user.status === Status.ACTIVE;
        return this.#respond(verified ? signedIn(user) : {});
      },
    };
  }

  #identities(): Partial<Calls> {
    return {
      listProviders: ({ tenantId }) => ({ providers: this.providers.list(tenantId) }),
      getProvider: ({ tenantId, name }) => this.providers.get(tenantId, name),
      signInWithProvider: (proof) => {
        const { tenantId, email, name } = proof;
        const held = this.providers.holder(proof, (userId) =>
          this.addUser(userId, { tenantId, email, name }),
        );
        const user = 'userId' in held ? this.users.get(`${tenantId} ${held.userId}`) : undefined;
        if (user?.status !== Status.ACTIVE) return { refusal: 'refusal' in held ? held.refusal : 'inactive' };
        return signedIn(user);
      },
    };
  }

  #userNamed(tenantId: string, identifier: string): FakeUser | undefined {
    const name = identifier.trim().toLowerCase();
    return [...this.users.values()].find(
      (user) => user.tenantId === tenantId && [user.username, user.email, user.phoneNumber].includes(name),
    );
  }
}

function found<T>(record: T | undefined): T {
  if (record === undefined) throw new ConnectError('not found', Code.NotFound);
  return record;
}
