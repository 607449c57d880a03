import { describe, expect, it } from 'vitest';
import { client, mapper, moved, type Part } from '../../../testing/moved-realm.ts';

const groups = [{ name: 'Staff', subGroups: [{ name: 'Accounts' }, { name: 'R~/D' }] }];
const users = [
  { id: '1', username: 'ada', groups: ['/Staff/Accounts', '/Staff/R~/D'] },
  { id: '2', username: 'bob' },
];
const targets = { 'access.token.claim': 'true', 'claim.name': 'groups' };

function withMapper(config: Part, part: Part = {}) {
  const protocolMappers = [mapper('oidc-group-membership-mapper', { ...targets, ...config })];
  return moved({ clients: [{ ...client, protocolMappers }], groups, users, ...part });
}

describe('groups that a claim names', () => {
  it('come as paths, in an attribute of each person and a claim that is a list', () => {
    const { records, leftOut } = withMapper({ 'full.path': 'true' });
    expect(records.users.map(({ attributes }) => attributes)).toEqual([
      { keycloakId: '1', keycloakGroups: ['/Staff/Accounts', '/Staff/R~/D'] },
      { keycloakId: '2' },
    ]);
    expect(records.applications[0]?.['claims']).toMatchObject({
      groups: { attribute: 'keycloakGroups', targets: ['accessToken'], list: 'always' },
    });
    expect(leftOut.join()).not.toContain('oidc-group-membership-mapper');
    // Parts of an import are copies of the records.
    expect(structuredClone(records.users)).toEqual(records.users);
  });

  it('come as names where the mapper does not say full paths', () => {
    const { records } = withMapper({});
    expect(records.users[0]?.['attributes']).toEqual({
      keycloakId: '1',
      keycloakGroupNames: ['Accounts', 'R/D'],
    });
    expect(records.applications[0]?.['claims']).toMatchObject({
      groups: { attribute: 'keycloakGroupNames' },
    });
  });

  it('are no attribute without a mapper', () => {
    const { records } = moved({ groups, users });
    expect(records.users[0]?.['attributes']).toEqual({ keycloakId: '1' });
  });

  it('are kept where attributes do not fit, as a claim may decide what somebody may do', () => {
    const attributes = { long: 'x'.repeat(20_000) };
    const { records, leftOut } = withMapper(
      { 'full.path': 'true' },
      { users: [{ id: '1', username: 'ada', groups: ['/Staff'], attributes }] },
    );
    expect(records.users[0]?.['attributes']).toEqual({ keycloakId: '1', keycloakGroups: ['/Staff'] });
    expect(leftOut.join()).toContain('attributes long of user ada');
  });
});
