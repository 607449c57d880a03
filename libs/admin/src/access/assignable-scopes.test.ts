import { ResourceSchema, ListResourcesResponseSchema } from '@tessera/proto-gen/admin-resources';
import { create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { apisOf, isAssignable } from './assignable-scopes.ts';

/** Whether an application of `owner` gets the scope of an API of `stock` that says this. */
async function isAssigned(assignableBy: readonly string[], owner: string): Promise<boolean> {
  const scopes = [{ name: 'stock.read' }];
  const api = create(ResourceSchema, {
    audience: 'https://stock.example',
    owner: 'stock',
    scopes,
    assignableBy: [...assignableBy],
  });
  const pages = [[], [api]];
  const apis = await apisOf(
    {
      list: async ({ pageToken = '' }) =>
        create(ListResourcesResponseSchema, {
          resources: pages[Number(pageToken)] ?? [],
          nextPageToken: pageToken === '' ? '1' : '',
        }),
    },
    'acme',
    {},
  );
  expect([apis.withScope('unknown.read'), apis.withAudience('unknown')]).toEqual([undefined, undefined]);
  expect(apis.withAudience('https://stock.example')).toBe(apis.withScope('stock.read'));
  const found = apis.withScope('stock.read');
  return found !== undefined && isAssignable(found, owner);
}

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
  'a scope of an API that says %j is, for the owner %s, assignable: %s',
  async (by, owner, expected) => {
    expect(await isAssigned(by, owner)).toBe(expected);
  },
);
