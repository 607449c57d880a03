import { describe, expect, it } from 'vitest';
import { mapper, movedClient, type Part } from '../../../testing/moved-realm.ts';

describe('clients', () => {
  it('that are services have no claims, and say so', () => {
    const { application, leftOut } = movedClient({
      standardFlowEnabled: false,
      serviceAccountsEnabled: true,
      protocolMappers: [mapper('oidc-hardcoded-claim-mapper', { 'claim.name': 'x' })],
    });
    expect(application).not.toHaveProperty('claims');
    expect(leftOut).toContain('mappers of application web: claims are those of people, and nobody signs in');
  });

  it('map the roles of clients to claims of their own, of one client or of all, the own one first', () => {
    const config = { 'access.token.claim': true, 'claim.name': 'resource_access.${client_id}.roles' };
    const roles = {
      client: { api: [{ name: 'read' }], 'a.web': [{ name: 'buy' }], account: [{ name: 'x' }] },
    };
    const claimsBy = (more: Part, clientId = 'a.web') => {
      const ofClient = mapper('oidc-usermodel-client-role-mapper', { ...config, ...more });
      const { application, leftOut } = movedClient({ clientId, protocolMappers: [ofClient] }, {}, { roles });
      const { keycloak_id: _id, ...claims } = (application?.['claims'] ?? {}) as Part;
      return { claims, leftOut };
    };
    const targets = ['accessToken'];
    expect(Object.entries(claimsBy({}).claims)).toEqual([
      [
        'resource_access.a.web.roles',
        { roles: true, rolePrefix: 'a.web:', targets, path: ['resource_access', 'a.web', 'roles'] },
      ],
      [
        'resource_access.api.roles',
        { roles: true, rolePrefix: 'api:', targets, path: ['resource_access', 'api', 'roles'] },
      ],
    ]);
    const one = { 'usermodel.clientRoleMapping.clientId': 'api', 'claim.name': 'roles' };
    expect(claimsBy(one).claims).toEqual({ roles: { roles: true, rolePrefix: 'api:', targets } });
    const own = { 'usermodel.clientRoleMapping.clientId': 'account' };
    expect(claimsBy(own)).toEqual({
      claims: {},
      leftOut: ['mapper m of application a.web: roles of account do not come'],
    });
  });

  it('map no roles of a client whose name and a colon begin the names of other roles, too', () => {
    const config = { 'access.token.claim': true, 'claim.name': '${client_id}' };
    const rolePrefixes = (more: Part, roles: Part) => {
      const ofClient = mapper('oidc-usermodel-client-role-mapper', { ...config, ...more });
      const { application, leftOut } = movedClient({ protocolMappers: [ofClient] }, {}, { roles });
      const claims = Object.values(application?.['claims'] ?? {}) as Part[];
      return { prefixes: claims.flatMap(({ rolePrefix }) => rolePrefix ?? []), leftOut };
    };
    const line = 'mapper m of application web: roles of a do not come: names of others begin with a:, too';
    const a = { 'usermodel.clientRoleMapping.clientId': 'a' };
    const ofClients = { client: { a: [{ name: 'x' }], 'a:b': [{ name: 'y' }] } };
    expect(rolePrefixes({}, ofClients)).toEqual({ prefixes: ['a:b:'], leftOut: [line] });
    expect(rolePrefixes(a, ofClients)).toEqual({ prefixes: [], leftOut: [line] });
    const ofRealm = { realm: [{ name: 'a:y' }], client: { a: [{ name: 'x' }] } };
    expect(rolePrefixes(a, ofRealm)).toEqual({ prefixes: [], leftOut: [line] });
    const alone = { client: { a: [{ name: 'x:y' }], ab: [{ name: 'y' }] } };
    expect(rolePrefixes(a, alone)).toEqual({ prefixes: ['a:'], leftOut: [] });
  });

  it('map the roles of the first clients of many, and say how many they do not', () => {
    const ofClient = mapper('oidc-usermodel-client-role-mapper', {
      'access.token.claim': true,
      'claim.name': '${client_id}',
    });
    const names = Array.from({ length: 12 }, (_, index) => `api-${index}`);
    const roles = { client: Object.fromEntries([...names, 'web'].map((of) => [of, [{ name: 'x' }]])) };
    const { application, leftOut } = movedClient({ protocolMappers: [ofClient] }, {}, { roles });
    expect(Object.keys(application?.['claims'] ?? {})).toEqual(['keycloak_id', 'web', ...names.slice(0, 7)]);
    expect(leftOut).toEqual([
      'mapper m of application web: names the roles of 8 clients, and not those of 5 more',
    ]);
  });

  it.each([
    ['String', 'false', { list: 'first' }],
    ['String', 'true', { list: 'always' }],
    ['long', 'false', { type: 'number', list: 'first' }],
    ['boolean', undefined, { type: 'boolean', list: 'first' }],
    ['JSON', 'false', { type: 'json', list: 'first' }],
    ['constructor', 'false', { list: 'first' }],
  ])('map attributes as %s, multivalued %s', (label, multivalued, expected) => {
    const config = { 'id.token.claim': 'true', 'user.attribute': 'level', 'claim.name': 'profile.level' };
    const asked = { ...config, 'jsonType.label': label, ...(multivalued && { multivalued }) };
    const { application } = movedClient({
      protocolMappers: [mapper('oidc-usermodel-attribute-mapper', asked)],
    });
    expect(application?.['claims']).toHaveProperty(['profile.level'], {
      attribute: 'level',
      ...expected,
      targets: ['idToken'],
      path: ['profile', 'level'],
    });
  });

  it('have the first of several claims of one name, and a line for each that differs', () => {
    const attribute = (name: string, claim: string) => ({
      ...mapper('oidc-usermodel-attribute-mapper', {
        'id.token.claim': 'true',
        'user.attribute': name,
        'claim.name': claim,
      }),
      name,
    });
    const protocolMappers = [
      attribute('team', 'team'),
      attribute('team', 'team'),
      attribute('group', 'team'),
      attribute('id', 'keycloak_id'),
      attribute('odd', '__proto__'),
      attribute('made', 'constructor'),
    ];
    const { application, leftOut } = movedClient({ protocolMappers });
    expect(Object.keys(application?.['claims'] ?? {})).toEqual(['keycloak_id', 'team', 'constructor']);
    expect(application?.['claims']).toMatchObject({
      keycloak_id: { attribute: 'keycloakId' },
      team: { attribute: 'team' },
    });
    expect(leftOut).toEqual([
      'mapper group of application web: another one has the claim team',
      'mapper id of application web: another one has the claim keycloak_id',
      'mapper odd of application web: no claim has the name __proto__',
    ]);
  });

  it('map attributes and roles to claims, in objects too; other mappers are left out', () => {
    const here = { 'id.token.claim': 'true', 'access.token.claim': 'false' };
    const { application, leftOut } = movedClient({
      protocolMappers: [
        mapper('oidc-usermodel-attribute-mapper', {
          ...here,
          'user.attribute': 'team',
          'claim.name': 'https://acme\\.example/team',
        }),
        mapper('oidc-usermodel-realm-role-mapper', { ...here, 'claim.name': 'groups' }),
        mapper('oidc-usermodel-realm-role-mapper', { ...here, 'claim.name': 'realm_access.roles' }),
        mapper('oidc-hardcoded-claim-mapper', here),
        mapper('oidc-audience-mapper', here),
        mapper('oidc-usermodel-attribute-mapper', { 'user.attribute': 'x', 'claim.name': 'x' }),
        mapper('oidc-acr-mapper', here),
      ],
    });
    expect(application?.['claims']).toMatchObject({
      'https://acme.example/team': { attribute: 'team', targets: ['idToken'] },
      groups: { roles: true, targets: ['idToken'] },
      'realm_access.roles': { roles: true, targets: ['idToken'], path: ['realm_access', 'roles'] },
    });
    expect(leftOut).toEqual(
      ['oidc-hardcoded-claim-mapper has no counterpart', 'it sets a claim nowhere'].map(
        (problem) => `mapper m of application web: ${problem}`,
      ),
    );
  });
});
