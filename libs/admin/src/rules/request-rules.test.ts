import { create, type DescFile } from '@bufbuild/protobuf';
import { file_buf_validate_validate as wholeRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import {
  CreatePasswordLinkRequestSchema,
  ListUsersRequestSchema,
  UsersService,
} from '@tessera/proto-gen/admin-users';
import { AuditService, SearchAuditRequestSchema } from '@tessera/proto-gen/admin-audit';
import { ApprovalsService, ListApprovalsRequestSchema } from '@tessera/proto-gen/admin-approvals';
import { KeysService } from '@tessera/proto-gen/keys';
import { file_buf_validate_validate as usedRules } from '@tessera/proto-gen/validate';
import { expect, test } from 'vitest';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { requestCheck } from './request-rules.ts';

const violations = async (check: Promise<void> | undefined) => {
  const error = ConnectError.from(await check?.catch((thrown: unknown) => thrown));
  return [error.code, fieldViolations(error)];
};

test('a request that breaks rules of its proto is refused, with the field as JSON names it', async () => {
  const list = requestCheck(UsersService.method.list);
  await list?.(create(ListUsersRequestSchema, { tenantId: 'acme' }));
  expect(await violations(list?.(create(ListUsersRequestSchema, { pageSize: -1 })))).toEqual([
    Code.InvalidArgument,
    [{ field: 'pageSize', description: 'must be greater than or equal to 0' }],
  ]);
  const link = requestCheck(UsersService.method.createPasswordLink);
  for (const purpose of ['invitation', 'reset'])
    await link?.(create(CreatePasswordLinkRequestSchema, { purpose }));
  for (const purpose of ['', 'bootstrap', 'Reset'])
    expect(await violations(link?.(create(CreatePasswordLinkRequestSchema, { purpose })))).toEqual([
      Code.InvalidArgument,
      [{ field: 'purpose', description: 'must be in list [invitation, reset]' }],
    ]);
});

test('a field that must be there is', async () => {
  const list = requestCheck(ApprovalsService.method.list);
  await list?.(create(ListApprovalsRequestSchema, { userId: 'usr_1' }));
  expect(await violations(list?.(create(ListApprovalsRequestSchema, { tenantId: 'acme' })))).toEqual([
    Code.InvalidArgument,
    [{ field: 'userId', description: 'value is required' }],
  ]);
});

test('every mistake of a request is named', async () => {
  const search = requestCheck(AuditService.method.search);
  await search?.(create(SearchAuditRequestSchema, {}));
  await search?.(create(SearchAuditRequestSchema, { outcome: 'failure' }));
  const [, fields] = await violations(
    search?.(create(SearchAuditRequestSchema, { pageSize: -1, outcome: 'neither' })),
  );
  expect(fields).toMatchObject([{ field: 'outcome' }, { field: 'pageSize' }]);
});

test('requests without rules are not checked', () => {
  expect(requestCheck(KeysService.method.sign)).toBeUndefined();
  expect(requestCheck(UsersService.method.create)).toBeUndefined();
});

test('the rules that the protos use are those of the library', () => {
  const fieldsOf = ({ messages, enums, extensions }: DescFile) =>
    [
      ...messages.flatMap(({ typeName, fields }) =>
        fields.map(
          ({ name, number, proto }) => `${typeName}.${name} ${number} ${proto.type} ${proto.typeName}`,
        ),
      ),
      ...enums.flatMap(({ typeName, values }) =>
        values.map(({ name, number }) => `${typeName}.${name} ${number}`),
      ),
      ...extensions.map(({ typeName, number, extendee }) => `${typeName} ${number} ${extendee.typeName}`),
    ].toSorted();
  const used = fieldsOf(usedRules);
  expect(used.length).toBeGreaterThan(5);
  expect(fieldsOf(wholeRules)).toEqual(expect.arrayContaining(used));
});
