import { Code, ConnectError, local, route } from '@tessera/rpc';
import type { BuiltService, CallerName, Client, Handlers } from '@tessera/rpc';
import {
  ApplicationType,
  ChangeKind,
  DirectoryService,
  Status,
  type User,
} from '@tessera/proto-gen/directory';
import { fakePerson, type AnnouncedSignIn } from './fake-person.ts';
import { FakeDirectoryChanges } from './fake-directory-changes.ts';
import { FakeMailCodes } from './fake-mail-codes.ts';
import { FakeProviders } from './fake-providers.ts';

export type { FakeProvider } from './fake-providers.ts';
import { silentLog } from '@tessera/test-kit';

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
  scopes: {
    readonly name: string;
    readonly audience: string;
    readonly tokenType?: string;
    readonly scopeFormat?: string;
    readonly signingAlgorithm?: string;
    readonly roles?: string[];
  }[];
  introspectAudiences: string[];
  authenticatedStartRequired: boolean;
  allowedRoles: string[];
  idTokenClaims: string[];
  roles: string[];
  anyLoopbackPort: boolean;
  thirdParty: boolean;
  authenticationPolicy: string;
  pkceOptional: boolean;
  backchannelLogoutUri: string;
  claims?: {
    readonly name: string;
    readonly attribute?: string;
    readonly idToken?: boolean;
    readonly accessToken?: boolean;
    readonly userinfo?: boolean;
  }[];
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
  attributes?: NonNullable<User['attributes']>;
  roles: string[];
  password: string;
  /** The code that the person's authenticator app shows, each time; absent for a person without one. */
  totpCode?: string;
  /** Whether the person has a passkey: it answers with `passkeyAnswer`. */
  hasPasskey?: boolean;
  passkeyName?: string;
  /** A code in place of the app or the passkey, each time; absent for a person without one. */
  recoveryCode?: string;
  /** Seed of the recovery codes that the person has kept. */
  adopted?: string;
  status: Status;
  /** Seconds since the Unix epoch. */
  validFrom: bigint;
  unlockedAtMs?: bigint;
}

export interface FakeTenant {
  tenantId: string;
  name: string;
  status: Status;
  /** Empty if it is served at the shared issuer. */
  issuer: string;
  authenticationPolicy?: string;
  passkeyDomain?: string;
  /** Those that its resources declare. */
  signingAlgorithms?: string[];
  accountClosing?: boolean;
  signInMethods?: string[];
  sendsMail?: boolean;
}

type Edit<T> = Partial<T> | ((record: T) => void);

/** The code with which anybody sets up an authenticator app. */
export const enrolmentCode = '123456';

/** What a browser answers with the passkey of a person, or with a new one. */
export const passkeyAnswer = (userId: string, challenge: string): string =>
  JSON.stringify({ id: userId, challenge });

/** The secret of an application that was added without one. */
export const secretOf = (clientId: string): string => `${clientId}-secret-0123456789-0123456789`;

/**
 * A directory in memory that behaves like the real one towards the services that read it. Its records can be changed while
 * it runs, and watchers receive the changes. It counts its calls, and can be slow, unavailable or disconnected.
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
  readonly announcedWrongCodes: string[] = [];
  /** Addresses that people said are theirs. */
  readonly proposedAddresses: string[] = [];
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
  /** Sends the changes to watchers. Open streams send no position while the directory is unavailable. */
  readonly changes: FakeDirectoryChanges;
  readonly client: Client<typeof DirectoryService>;
  readonly person = fakePerson(this);
  /** Refuses all calls. Open streams stay open. */
  unavailable = false;
  /** The algorithms that resources at the shared issuer declare. */
  sharedAlgorithms: string[] = [];
  readonly #usedChallenges = new Set<string>();
  /** Every response waits for this after its record was read, so it may be stale when it arrives. */
  hold: Promise<unknown> | undefined;
  /**
   * @param caller the service that reads it
   * @param beatMs how often watchers receive their position; 0: only with `changes.beat`
   */
  constructor(caller: CallerName, beatMs = 500) {
    this.client = local(DirectoryService, this.#service(), caller, silentLog());
    this.changes = new FakeDirectoryChanges(beatMs, () => !this.unavailable);
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
      idTokenClaims: [],
      roles: [],
      anyLoopbackPort: false,
      thirdParty: false,
      authenticationPolicy: 'any',
      pkceOptional: false,
      backchannelLogoutUri: '',
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
    await this.changes.sendAndWait(
      ChangeKind.APPLICATION,
      application.tenantId,
      clientId,
      application.status,
    );
  }

  /** Changes the user with this id in `acme` or, if there is none, in another tenant; resolves as `changeApplication`. */
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
    return this.calls.getApplication + this.calls.getUser + this.calls.verifyApplicationSecret;
  }

  #needsPresentVersion(): void {
    if (this.isEarlier) throw new ConnectError('no such method', Code.Unimplemented);
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
      getTenantLooks: ({ tenantId }) => this.#respond({ name: found(this.tenants.get(tenantId)).name }),
      listTenantIssuers: () => {
        this.#receive('listTenantIssuers');
        const issuers = [...this.tenants.values()].filter(({ issuer }) => issuer !== '');
        return this.#respond({
          issuers: issuers.map(({ tenantId, issuer, signingAlgorithms = [] }) => ({
            tenantId,
            issuer,
            signingAlgorithms,
          })),
          sharedSigningAlgorithms: this.sharedAlgorithms,
        });
      },
      getUser: ({ tenantId, userId }) => {
        this.#receive('getUser');
        return this.#respond({ user: withoutPassword(found(this.users.get(`${tenantId} ${userId}`))) });
      },
      batchGetUsers: ({ tenantId, userIds }) => {
        const known = userIds.flatMap((userId) => this.users.get(`${tenantId} ${userId}`) ?? []);
        return this.#respond({ users: known.map(withoutPassword) });
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
      replacePassword: async ({ tenantId, userId, presentPassword, newPassword }) => {
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user?.password !== presentPassword || user.status !== Status.ACTIVE) return {};
        if (newPassword.length < 8) return { passwordProblem: 'must have at least 8 characters' };
        const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
        await this.changeUser(userId, { password: newPassword, validFrom });
        const changed = found(this.users.get(`${tenantId} ${userId}`));
        return { user: withoutPassword(changed), signedInAtMs: validFrom * 1000n };
      },
      proposeTotp: ({ seed }) => ({ uri: `otpauth://totp/a:b?secret=${seed}` }),
      verifyProposedTotp: ({ tenantId, userId, code }) => {
        this.#needsPresentVersion();
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user === undefined || user.totpCode !== undefined || code !== enrolmentCode) return {};
        return { timeStep: 1n };
      },
      proposeRecoveryCodes: ({ seed }) => {
        this.#needsPresentVersion();
        return { codes: [`1-${seed}`, `2-${seed}`] };
      },
      adoptProposal: async ({ tenantId, userId, seed, timeStep }) => {
        this.#needsPresentVersion();
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user?.status !== Status.ACTIVE) return {};
        if (user.adopted === seed) return { user: withoutPassword(user) };
        if (timeStep !== undefined && user.totpCode !== undefined) return { superseded: true };
        if (timeStep === undefined && user.totpCode === undefined && user.hasPasskey !== true) return {};
        await this.changeUser(userId, {
          adopted: seed,
          recoveryCode: `1-${seed}`,
          ...(timeStep !== undefined && { totpCode: enrolmentCode }),
        });
        return { user: withoutPassword(found(this.users.get(`${tenantId} ${userId}`))) };
      },
      enrolTotp: async ({ tenantId, userId, code }) => {
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user === undefined || user.totpCode !== undefined || code !== enrolmentCode) return {};
        await this.changeUser(userId, { totpCode: code });
        return { user: withoutPassword(found(this.users.get(`${tenantId} ${userId}`))) };
      },
      verifySecondFactor: ({ tenantId, userId, code }) => {
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user === undefined || user.status !== Status.ACTIVE) return {};
        if (![user.totpCode, user.recoveryCode].includes(code)) return {};
        return { user: withoutPassword(user) };
      },
      proposePasskey: ({ ceremony }) => ({ options: JSON.stringify({ challenge: ceremony?.challenge }) }),
      enrolPasskey: async ({ tenantId, userId, ceremony, response }) => {
        const user = this.users.get(`${tenantId} ${userId}`);
        if (user === undefined || !this.#isNewAnswer(userId, ceremony?.challenge, response)) return {};
        await this.changeUser(userId, { hasPasskey: true });
        return { user: withoutPassword(found(this.users.get(`${tenantId} ${userId}`))), synced: true };
      },
      verifyPasskey: ({ tenantId, userId, ceremony, response }) => {
        const { id = '' } = JSON.parse(response) as { id?: string };
        const user = this.users.get(`${tenantId} ${id}`);
        if (user?.hasPasskey !== true || user.status !== Status.ACTIVE) return {};
        if (userId !== '' && userId !== id) return {};
        if (!this.#isNewAnswer(id, ceremony?.challenge, response)) return {};
        const signedInAtMs = BigInt(Math.max(Date.now(), Number(user.validFrom) * 1000));
        return { user: withoutPassword(user), signedInAtMs, synced: false };
      },
      replaceRecoveryCodes: () => ({ codes: ['00000-00000', '11111-11111'] }),
      ...this.mailCodes.calls(
        (tenantId, name) => this.users.get(`${tenantId} ${name}`) ?? this.#userNamed(tenantId, name),
        withoutPassword,
      ),
      listProviders: ({ tenantId }) => ({ providers: this.providers.list(tenantId) }),
      getProvider: ({ tenantId, name }) => this.providers.get(tenantId, name),
      signInWithProvider: (proof) => {
        const { tenantId, email, name } = proof;
        const held = this.providers.holder(proof, (userId) =>
          this.addUser(userId, { tenantId, email, name }),
        );
        const user = 'userId' in held ? this.users.get(`${tenantId} ${held.userId}`) : undefined;
        if (user?.status !== Status.ACTIVE) return { refusal: 'refusal' in held ? held.refusal : 'inactive' };
        const signedInAtMs = BigInt(Math.max(Date.now(), Number(user.validFrom) * 1000));
        return { user: withoutPassword(user), signedInAtMs };
      },
      getPasswordLink: () => found<never>(undefined),
      redeemPasswordLink: () => found<never>(undefined),
      requestPasswordReset: () => found<never>(undefined),
      requestRegistration: () => found<never>(undefined),
      proposeEmail: ({ tenantId, userId, email }) => {
        found(this.users.get(`${tenantId} ${userId}`));
        if (!email.includes('@')) throw new ConnectError('no address', Code.InvalidArgument);
        this.proposedAddresses.push(email);
        return {};
      },
      getEmailLink: () => found<never>(undefined),
      confirmEmail: () => found<never>(undefined),
      watchChanges: ({ afterSequence, since }, { signal }) => {
        this.changes.watchedAfter.push(afterSequence);
        this.#receive('watchChanges');
        return this.changes.watch(afterSequence, since, signal);
      },
    };
  }

  /** Each challenge is answered once. */
  #isNewAnswer(userId: string, challenge = '', response = ''): boolean {
    if (this.#usedChallenges.has(challenge) || response !== passkeyAnswer(userId, challenge)) return false;
    this.#usedChallenges.add(challenge);
    return true;
  }

  #userNamed(tenantId: string, identifier: string): FakeUser | undefined {
    const name = identifier.trim().toLowerCase();
    return [...this.users.values()].find(
      (user) => user.tenantId === tenantId && [user.username, user.email, user.phoneNumber].includes(name),
    );
  }

  #service(): BuiltService {
    return {
      name: 'directory',
      routes: [route(DirectoryService, this.#handlers())],
      ready: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
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

function withoutPassword({
  password: _password,
  totpCode,
  hasPasskey,
  passkeyName: _name,
  recoveryCode: _code,
  adopted: _seed,
  ...user
}: FakeUser) {
  const secondFactors = [
    ...(totpCode === undefined ? [] : ['totp']),
    ...(hasPasskey === true ? ['passkey'] : []),
  ];
  return { ...structuredClone(user), secondFactors };
}
