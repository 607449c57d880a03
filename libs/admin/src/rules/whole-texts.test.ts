import { create } from '@bufbuild/protobuf';
import { EndSessionsRequestSchema } from '@tessera/proto-gen/admin-sessions';
import { CreateUserRequestSchema } from '@tessera/proto-gen/admin-users';
import { expect, test } from 'vitest';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { refuseNul } from './whole-texts.ts';

function refusedFields(request: object): unknown {
  try {
    refuseNul(request);
    return undefined;
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    return [error.code, ...fieldViolations(error).map(({ field }) => field)];
  }
}

test('a NUL is found in every text of a request, however deep, and the field is named', () => {
  const request = (fields: object) => create(CreateUserRequestSchema, { tenantId: 'acme', ...fields });
  const found = (fields: object) => refusedFields(request(fields));
  expect(found({ user: { username: 'eve', roles: ['clerk'], attributes: { a: 'b' } } })).toBeUndefined();
  expect(refusedFields({ bytes: new Uint8Array(3), big: 1n, none: null })).toBeUndefined();
  expect(found({ requestId: 'a\0' })).toEqual([Code.InvalidArgument, 'requestId']);
  expect(found({ user: { username: 'e\0ve' } })).toEqual([Code.InvalidArgument, 'user.username']);
  expect(found({ user: { roles: ['clerk', '\0'] } })).toEqual([Code.InvalidArgument, 'user.roles[1]']);
  const sessions = create(EndSessionsRequestSchema, { whose: { case: 'userId', value: '\0' } });
  expect(refusedFields(sessions)).toEqual([Code.InvalidArgument, 'userId']);
  expect(found({ user: { attributes: { '\0': 'b' } } })).toEqual([Code.InvalidArgument, 'user.attributes']);
});
