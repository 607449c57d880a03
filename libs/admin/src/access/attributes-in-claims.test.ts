import { ApplicationSchema, ListApplicationsResponseSchema } from '@tessera/proto-gen/admin-applications';
import { create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { attributesInClaims } from './attributes-in-claims.ts';

const application = (claims: Record<string, { attribute?: string; roles?: boolean }>) =>
  create(ApplicationSchema, {
    claims: Object.fromEntries(
      Object.entries(claims).map(([name, from]) => [name, { ...from, targets: [] }]),
    ),
  });

it('attributes in claims are those of every application, on every page', async () => {
  const pages = new Map([
    ['', { applications: [application({ grade: { attribute: 'pay' } })], nextPageToken: 'second' }],
    ['second', { applications: [application({ groups: { roles: true } })], nextPageToken: 'third' }],
    ['third', { applications: [application({ a: { attribute: 'team' }, b: { attribute: 'pay' } })] }],
  ]);
  const asked: unknown[] = [];
  const list = async ({ tenantId, pageToken = '' }: { tenantId?: string; pageToken?: string }) => {
    asked.push([tenantId, pageToken]);
    return create(ListApplicationsResponseSchema, pages.get(pageToken) ?? {});
  };
  expect([...(await attributesInClaims({ list }, 'acme', {}))]).toEqual(['pay', 'team']);
  expect(asked).toEqual([
    ['acme', ''],
    ['acme', 'second'],
    ['acme', 'third'],
  ]);
});
