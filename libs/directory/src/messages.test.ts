import {
  ApplicationSchema,
  GrantedScopeSchema,
  TenantSchema,
  UserSchema,
} from '@tessera/proto-gen/directory';
import { describe, expect, it } from 'vitest';
import { applicationFields } from './applications/fields.ts';
import { messageOf } from './fields/field.ts';
import { applicationMessage } from './messages.ts';
import { tokenFields } from './resources/fields.ts';
import { testTenant } from './store/store.contract.ts';
import { tenantFields } from './tenants/fields.ts';
import { userFields } from './users/fields.ts';

const state = testTenant('acme');
const [resource] = state.resources;
const [user] = state.users;
const [application] = state.applications;

describe('the fields of a table', () => {
  it.each([
    ['tenants', TenantSchema, messageOf(tenantFields, state.tenant)],
    ['resources', GrantedScopeSchema, resource && messageOf(tokenFields, resource)],
    ['users', UserSchema, user && messageOf(userFields, user)],
    ['applications', ApplicationSchema, application && messageOf(applicationFields, application)],
  ])('are sent as fields that the message has: %s', (_, schema, message) => {
    const known = schema.fields.map(({ localName }) => localName);
    const sent = Object.keys(message ?? {});
    expect(sent).not.toEqual([]);
    expect(sent.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('beginnings of redirect URIs', () => {
  it.each([
    { endpoints: 'standard', issuer: 'https://sso.example', isSent: false },
    { endpoints: 'keycloak', issuer: '', isSent: false },
    { endpoints: 'keycloak', issuer: 'https://sso.example', isSent: true },
  ] as const)(
    'are sent to others where a tenant has an issuer with the paths of Keycloak: $endpoints, "$issuer"',
    ({ endpoints, issuer, isSent }) => {
      if (application === undefined) throw new Error('the tenant of the tests has an application');
      const tenant = { ...state.tenant, endpoints, issuer };
      const prefixes = {
        redirectUriPrefixes: ['https://a.example/'],
        logoutRedirectUriPrefixes: ['https://b.example/'],
      };
      const found = { application: { ...application, ...prefixes }, scopes: [], tenant, validFrom: 0 };
      const sent = applicationMessage(found, false).application;
      const none = { redirectUriPrefixes: [], logoutRedirectUriPrefixes: [] };
      expect(sent).toMatchObject(isSent ? prefixes : none);
    },
  );
});
