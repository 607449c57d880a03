import { noLooks } from '../tenants/looks.ts';
import { describe, expect, it } from 'vitest';
import { planTenant, countPlan, changesOf } from './plan.ts';
import { eventsOf } from './plan-events.ts';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { TenantState } from './tenant-state.ts';
import type { UserRecord } from '../users/fields.ts';

const user: UserRecord = {
  owner: 'file',
  userId: 'usr_ada',
  username: 'ada',
  email: '',
  name: 'Ada',
  phoneNumber: '',
  standardClaims: {},
  attributes: {},
  roles: [],
  status: 'active',
  passwordHash: 'old-hash',
};
const application: ApplicationRecord = {
  owner: 'file',
  clientId: 'web',
  name: 'Web',
  type: 'confidential',
  status: 'active',
  grantTypes: ['client_credentials'],
  redirectUris: [],
  redirectUriPrefixes: [],
  logoutRedirectUriPrefixes: [],
  logoutRedirectUris: [],
  scopes: [],
  defaultScopes: [],
  audiences: [],
  introspectAudiences: [],
  lifetimes: {
    accessToken: 0,
    idToken: 0,
    refreshTokenIdle: 0,
    refreshTokenAbsolute: 0,
    sessionRefreshTokenIdle: 0,
    sessionRefreshTokenAbsolute: 0,
    authorizationRequest: 0,
    authorizationCode: 0,
    pollInterval: 0,
  },
  ciba: { approval: '', url: '', delivery: 'poll', notificationEndpoint: '' },
  authenticatedStart: 'optional',
  allowedRoles: [],
  idTokenClaims: [],
  loopbackPorts: 'exact',
  roles: [],
  owners: [],
  description: '',
  descriptions: {},
  publisher: '',
  homepage: '',
  thirdParty: false,
  authenticationPolicy: 'any',
  pkce: 'required',
  backchannelLogoutUri: '',
  backchannelLogoutSessionRequired: false,
  publicKeys: [],
  jwksUri: '',
  trusts: [],
  idTokenSigningAlgorithm: 'RS256',
  claims: {},
  secrets: [{ digest: 'one', expiresAt: undefined }],
};
const provider: ProviderRecord = {
  owner: 'file',
  name: 'corp',
  preset: 'none',
  issuer: 'https://corp.example',
  clientId: 'acme',
  displayName: 'Corp',
  scopes: ['openid'],
  domains: [],
  linking: 'never',
  createsAccounts: false,
  roleMappings: [],
  attributeMappings: {},
  trustsFactors: false,
  signsOut: false,
  sealedSecret: 'sealed',
};
const state: TenantState = {
  tenant: {
    owner: 'file',
    tenantId: 'acme',
    name: 'Acme',
    status: 'active',
    issuer: '',
    endpoints: 'standard',
    authenticationPolicy: 'any',
    passkeyDomain: 'own',
    registration: 'closed',
    registrationDomains: [],
    accountClosing: false,
    signInMethods: [],
    looks: noLooks,
  },
  resources: [
    {
      audience: 'a',
      owner: 'file',
      name: 'A',
      shared: false,
      assignableBy: [],
      scopes: [],
      tokenType: 'at+jwt',
      scopeFormat: 'array',
      signingAlgorithm: 'RS256',
      roles: [],
    },
  ],
  roles: [{ name: 'clerk', owner: 'file' }],
  providers: [],
  users: [user],
  applications: [application],
};

function happened(after: Partial<TenantState>, before?: 'nothing') {
  const plan = planTenant(before === 'nothing' ? undefined : { ...state, known: [], proven: [] }, {
    ...state,
    ...after,
  });
  const events = eventsOf(plan, { actor: { type: 'operator', id: 'operator' } });
  return {
    events,
    names: events.map(({ event }) => event),
    changes: changesOf(plan),
    counts: countPlan(plan),
  };
}

describe('the record of a change', () => {
  it('is empty if nothing changed', () => {
    const reordered = { users: [...state.users], roles: [...state.roles] };
    expect(happened(reordered)).toMatchObject({
      events: [],
      changes: [],
      counts: { created: 0, updated: 0, deleted: 0 },
    });
  });

  it('covers everything for a new tenant, and notifies watchers of the tenant alone', () => {
    const { names, changes, counts } = happened({}, 'nothing');
    expect(names).toEqual([
      'tenant.created',
      'config.changed',
      'config.changed',
      'client.created',
      'user.created',
    ]);
    expect(changes).toEqual([{ kind: 'tenant', tenantId: 'acme', id: '' }]);
    expect(counts).toEqual({ created: 5, updated: 0, deleted: 0 });
  });

  it('names the owner of the record, unless it is the usual one', () => {
    const ownersOf = (owner: string) => {
      const owned = <T extends object>(record: T) => ({ ...record, owner });
      const { events } = happened(
        {
          tenant: owned(state.tenant),
          resources: state.resources.map(owned),
          roles: state.roles.map(owned),
          users: [owned(user)],
          applications: [owned(application)],
        },
        'nothing',
      );
      return events.map(({ details }) => details?.['owner']);
    };
    expect(ownersOf('api')).toEqual(['api', 'api', 'api', 'api', 'api']);
    expect(new Set(ownersOf('file'))).toEqual(new Set([undefined]));
  });

  it.each<[string, Partial<UserRecord>, string[]]>([
    ['disabled', { status: 'disabled' }, ['user.disabled']],
    ['locked', { status: 'locked' }, ['user.locked']],
    ['given another password', { passwordHash: 'new-hash' }, ['auth.credential.changed']],
    ['renamed', { name: 'Ada L.' }, ['user.updated']],
    [
      'given a role and disabled',
      { roles: ['clerk'], status: 'disabled' },
      ['user.disabled', 'user.updated'],
    ],
  ])('says that a person was %s', (_what, fields, expected) => {
    const { names, changes } = happened({ users: [{ ...user, ...fields }] });
    expect(names).toEqual(expected);
    expect(changes).toMatchObject([{ kind: 'user', tenantId: 'acme', id: 'usr_ada' }]);
    expect(changes[0]?.endsAll).toBe('passwordHash' in fields || 'status' in fields ? true : undefined);
  });

  it.each<[string, Partial<ApplicationRecord>, string[]]>([
    ['disabled', { status: 'disabled' }, ['client.disabled']],
    [
      'given another redirect URI',
      { redirectUris: ['https://x.example/'] },
      ['client.redirect_uris.changed'],
    ],
    [
      'given the beginning of redirect URIs',
      { redirectUriPrefixes: ['https://x.example/'] },
      ['client.redirect_uris.changed'],
    ],
    [
      'given a second secret',
      { secrets: [...application.secrets, { digest: 'two', expiresAt: 1 }] },
      ['client.secret.rotation_started'],
    ],
    [
      'given another secret',
      { secrets: [{ digest: 'two', expiresAt: undefined }] },
      ['client.secret.rotation_completed'],
    ],
    ['made public', { secrets: [], type: 'public' }, ['client.secret.revoked', 'client.updated']],
    [
      'given a secret that expires',
      { secrets: [{ digest: 'one', expiresAt: 1 }] },
      ['client.secret.expiry_changed'],
    ],
    ['given a scope', { scopes: ['openid'] }, ['client.updated']],
  ])('says that an application was %s', (_what, fields, expected) => {
    const { names, changes } = happened({ applications: [{ ...application, ...fields }] });
    expect(names).toEqual(expected);
    const endsAll = 'status' in fields && { endsAll: true };
    expect(changes).toEqual([{ kind: 'application', tenantId: 'acme', id: 'web', ...endsAll }]);
  });

  it('names what was removed', () => {
    const { names, counts } = happened({ users: [], applications: [] });
    expect(names).toEqual(['client.deleted', 'user.deleted']);
    expect(counts).toEqual({ created: 0, updated: 0, deleted: 2 });
  });

  it('names the resource or role that changed, and its changed fields', () => {
    const [resource] = state.resources;
    if (resource === undefined) throw new Error('the state has no resource');
    const { events } = happened({
      resources: [
        { ...resource, name: 'Orders', shared: true },
        { ...resource, audience: 'b' },
      ],
      roles: [],
    });
    expect(events.map(({ event, details }) => [event, details])).toEqual([
      ['config.changed', { resource: 'b', change: 'created' }],
      ['config.changed', { resource: 'a', change: 'updated', changed: 'name shared' }],
      ['config.changed', { role: 'clerk', change: 'deleted' }],
    ]);
  });

  it('names the people whose provider goes or gets another issuer, for watchers', () => {
    const before = { ...state, providers: [provider], users: [user, { ...user, userId: 'usr_bob' }] };
    const known = [{ userId: 'usr_bob', way: 'b', provider: 'corp', getsMailCode: true }];
    const changesTo = (...providers: ProviderRecord[]) =>
      changesOf(planTenant({ ...before, known, proven: [] }, { ...before, providers }));
    const tenant = { kind: 'tenant', tenantId: 'acme', id: '' };
    const bob = { kind: 'user', tenantId: 'acme', id: 'usr_bob', endsAll: true };
    expect(changesTo()).toEqual([tenant, bob]);
    expect(changesTo({ ...provider, issuer: 'https://other.example' })).toEqual([tenant, bob]);
    expect(changesTo({ ...provider, displayName: 'Company' })).toEqual([tenant]);
    expect(changesTo(provider)).toEqual([]);
  });

  it('takes from people what only a mapping gave them that goes, unless a file declares them', () => {
    const mapping = (role: string) => ({ claim: 'groups', value: role, role });
    const mapped = {
      ...provider,
      roleMappings: ['clerk', 'manager'].map(mapping),
      attributeMappings: { team: 'team' },
    };
    const club = { ...provider, name: 'club', roleMappings: [mapping('manager')] };
    const has = { roles: ['clerk', 'manager', 'guest'], attributes: { team: 'engines', desk: 'one' } };
    const bob = { ...user, ...has, userId: 'usr_bob', owner: 'api' };
    const ada = { ...user, ...has };
    const before = { ...state, providers: [mapped, club], users: [ada, bob] };
    const identityAt = (name: string, userId: string) => ({
      userId,
      way: userId,
      provider: name,
      getsMailCode: true,
    });
    const corpAlone = [identityAt('corp', 'usr_ada'), identityAt('corp', 'usr_bob')];
    const left = (known: typeof corpAlone, ...providers: ProviderRecord[]) =>
      planTenant({ ...before, known, proven: [] }, { ...before, providers }).users.updated.map(
        ({ after: { userId, roles, attributes } }) => [userId, roles, attributes],
      );
    const nothingMapped = ['usr_bob', ['guest'], { desk: 'one' }];
    expect(left(corpAlone, club)).toEqual([nothingMapped]);
    expect(left(corpAlone, { ...mapped, issuer: 'https://other.example' }, club)).toEqual([nothingMapped]);
    expect(left([...corpAlone, identityAt('club', 'usr_bob')], club)).toEqual([
      ['usr_bob', ['manager', 'guest'], { desk: 'one' }],
    ]);
    expect(left(corpAlone, { ...mapped, roleMappings: [mapping('manager')] }, club)).toEqual([
      ['usr_bob', ['manager', 'guest'], has.attributes],
    ]);
    expect(left(corpAlone, mapped)).toEqual([]);
    const renamed = { ...bob, name: 'Bobby' };
    const changed = planTenant(
      { ...before, known: corpAlone, proven: [] },
      { ...before, users: [ada, renamed], providers: [club] },
    );
    expect(changed.desired.users, 'whom the plan itself changes').toEqual([ada, renamed]);
    expect(changed.taken.size).toBe(0);
  });

  it.each<Partial<UserRecord>>([{ status: 'active' }, { passwordHash: 'new-hash' }])(
    'says to watchers of no end for a person who was disabled, and changes to %j',
    (fields) => {
      const resting = { ...user, status: 'disabled' } as const;
      const present = { ...state, users: [resting], known: [], proven: [] };
      const plan = planTenant(present, { ...state, users: [{ ...resting, ...fields }] });
      expect(changesOf(plan)).toEqual([{ kind: 'user', tenantId: 'acme', id: 'usr_ada' }]);
    },
  );

  it('says to watchers that another issuer ends everything of a tenant', () => {
    const moved = { ...state.tenant, issuer: 'https://login.acme.example' };
    expect(happened({ tenant: moved }).changes).toEqual([
      { kind: 'tenant', tenantId: 'acme', id: '', endsAll: true },
    ]);
  });

  it('covers the tenant by its status', () => {
    expect(happened({ tenant: { ...state.tenant, status: 'disabled' } }).names).toEqual(['tenant.suspended']);
    expect(happened({ tenant: { ...state.tenant, name: 'Acme Inc.' } }).names).toEqual(['tenant.updated']);
  });

  it('names changed fields, never their values', () => {
    const { events } = happened({
      users: [{ ...user, email: 'ada@acme.example', passwordHash: 'new-hash' }],
      applications: [{ ...application, secrets: [{ digest: 'two', expiresAt: undefined }] }],
    });
    expect(JSON.stringify(events)).not.toMatch(/hash|acme\.example|two|one/);
    expect(events.at(-1)).toMatchObject({ details: { changed: 'email' } });
  });
});
