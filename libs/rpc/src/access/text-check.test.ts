import { create, type DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { IntrospectionService } from '@tessera/proto-gen/token';
import { expect, test } from 'vitest';
import { fieldViolations } from '../errors/field-violations.ts';
import { textCheck } from './text-check.ts';

function refused(method: DescMethod, request: Record<string, unknown>): unknown {
  try {
    textCheck(method)?.(create(method.input, request));
    return undefined;
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    return [error.code, ...fieldViolations(error).map(({ field }) => field)];
  }
}

const inUser = (fields: Record<string, unknown>) =>
  refused(UsersService.method.create, { tenantId: 'acme', ...fields });

test('a request is taken as it is if all its texts can be stored', () => {
  const attributes = { a: 'b', n: 1, list: ['c', null, { d: true }] };
  expect(inUser({ user: { username: 'eve', roles: ['clerk'], attributes } })).toBeUndefined();
  expect(inUser({})).toBeUndefined();
});

test.each([
  [{ requestId: 'a\0' }, 'requestId'],
  [{ requestId: '\ud83d' }, 'requestId'],
  [{ user: { username: 'e\0ve' } }, 'user.username'],
  [{ user: { roles: ['clerk', '\0'] } }, 'user.roles[1]'],
  [{ user: { attributes: { '\0': 'b' } } }, 'user.attributes'],
  [{ user: { attributes: { a: [{ b: '\0' }] } } }, 'user.attributes.a[0].b'],
  [{ user: { attributes: { $typeName: 'a.Message', a: '\0' } } }, 'user.attributes.a'],
])('a text that no store takes is refused, however deep, and its field named: %j', (fields, field) => {
  expect(inUser(fields)).toEqual([Code.InvalidArgument, field]);
});

test('a text of a oneof and of a message in a map is found by its own name', () => {
  const whose = { case: 'userId', value: '\0' };
  expect(refused(SessionsService.method.endSessions, { whose })).toEqual([Code.InvalidArgument, 'userId']);
  const claims = { department: { attribute: '\0' } };
  expect(refused(ApplicationsService.method.create, { application: { claims } })).toEqual([
    Code.InvalidArgument,
    'application.claims.department.attribute',
  ]);
});

test('the name of a field is short, as it travels in a trailer, and has no half of a character at its end', () => {
  const [, field] = inUser({ user: { attributes: { [`a${'\u{1f600}'.repeat(9_000)}`]: '\0' } } }) as [
    Code,
    string,
  ];
  expect(field).toHaveLength(199);
  expect(field.isWellFormed()).toBe(true);
});

test('a method that is declared for any text checks none', () => {
  expect(textCheck(IntrospectionService.method.introspect)).toBeUndefined();
});
