import { ListResourcesResponseSchema, ResourceSchema } from '@tessera/proto-gen/admin-resources';
import { ListRolesResponseSchema } from '@tessera/proto-gen/admin-roles';
import { isAssignable } from '@tessera/oauth';
import { create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { assignablesOf, type Assigned } from './assignable-records.ts';

/** The records of a tenant with an API and a role of `stock`, each on a second page, and what was read of them. */
async function assignables(assignableBy: readonly string[], given: readonly Assigned[]) {
  const read = new Set<string>();
  const scopes = [{ name: 'stock.read' }];
  const audience = 'https://stock.example';
  const api = create(ResourceSchema, { audience, owner: 'stock', scopes, assignableBy: [...assignableBy] });
  const pageOf = <T>(kind: string, pageToken: string, record: T) => {
    read.add(kind);
    return pageToken === '' ? { found: [], nextPageToken: '1' } : { found: [record], nextPageToken: '' };
  };
  const records = {
    resources: {
      async list({ pageToken = '' }) {
        const { found, nextPageToken } = pageOf('resources', pageToken, api);
        return create(ListResourcesResponseSchema, { resources: found, nextPageToken });
      },
    },
    roles: {
      async list({ pageToken = '' }) {
        const { found, nextPageToken } = pageOf('roles', pageToken, { name: 'packer', owner: 'stock' });
        return create(ListRolesResponseSchema, { roles: found, nextPageToken });
      },
    },
  };
  const recordOf = await assignablesOf(records, 'acme', new Set(given), {});
  return { recordOf, read: [...read] };
}

it.each([
  [['scope'], ['resources']],
  [['audience'], ['resources']],
  [['role'], ['roles']],
  [
    ['role', 'scope'],
    ['resources', 'roles'],
  ],
] as const)('what is given is found where it is, %j in %j alone', async (given, lists) => {
  const { recordOf, read } = await assignables(['tenant'], given);
  expect(read.toSorted()).toEqual(lists);
  for (const [kind, name] of [
    ['scope', 'stock.read'],
    ['audience', 'https://stock.example'],
    ['role', 'packer'],
  ] as const) {
    const isRead = read.includes(kind === 'role' ? 'roles' : 'resources');
    expect(recordOf(kind, name)?.owner).toBe(isRead ? 'stock' : undefined);
    expect(recordOf(kind, 'unknown')).toBeUndefined();
  }
});

it.each([
  [[], 'stock', false],
  [['tenant'], 'orders', true],
  [['tenant'], 'api', true],
  [['owner'], 'stock', true],
  [['owner'], 'orders', false],
  [['owner'], 'owner', false],
  [['orders'], 'orders', true],
  [['orders'], 'orders2', false],
  [['orders'], 'stock', false],
  [['k8s:shop/*'], 'k8s:shop/web', true],
  [['k8s:shop/*'], 'k8s:shopping/web', false],
] as const)(
  'a scope of an API that says %j is, for the owner %s, assignable: %s; its audience and a role are not',
  async (by, owner, expected) => {
    const { recordOf } = await assignables(by, ['scope', 'role']);
    const isAssigned = (kind: Assigned, name: string) => {
      const record = recordOf(kind, name);
      return record !== undefined && isAssignable(record, owner);
    };
    expect(isAssigned('scope', 'stock.read')).toBe(expected);
    expect(isAssigned('audience', 'https://stock.example')).toBe(false);
    expect(isAssigned('role', 'packer')).toBe(false);
  },
);
