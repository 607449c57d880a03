import { create } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import type { Principal } from '../call.ts';
import { declaring } from '../testing/declaring.ts';
import { tenantCheck } from './check-caller.ts';
import { ReadRequestSchema } from '../testing/trial/trial_pb.ts';
import { TrialService } from '../testing/trial/trial-services.ts';

const { read } = declaring(TrialService, {
  read: { callers: ['operator'], scopes: ['admin.users.read'], tenantField: 'tenant_id' },
}).method;
const check = tenantCheck(read);

function ask(tenantId: string, principal?: Principal): void {
  check?.(create(ReadRequestSchema, { tenantId }), { principal });
}

const client = { kind: 'client', id: 'console' } as const;

test.each(['client', 'user'] as const)(
  'an access token of a %s for one tenant names that tenant alone',
  (kind) => {
    ask('acme', { kind, id: 'ada', tenantId: 'acme' });
    for (const other of ['globex', 'ACME', '', 'every'])
      expect(() => ask(other, { kind, id: 'ada', tenantId: 'acme' })).toThrow(
        expect.objectContaining({ code: Code.PermissionDenied }),
      );
  },
);

test('an access token for every tenant names any, and one for none names none', () => {
  ask('acme', { ...client, everyTenant: true });
  expect(() => ask('acme', client)).toThrow(expect.objectContaining({ code: Code.PermissionDenied }));
  expect(() => ask('', client)).toThrow(expect.objectContaining({ code: Code.PermissionDenied }));
});

test('processes name any tenant', () => {
  ask('acme');
  ask('acme', { kind: 'certificate', id: 'introspector.orders' });
});

test('a method that does not declare where its requests name the tenant checks none', () => {
  expect(tenantCheck(TrialService.method.read)).toBeUndefined();
});
