import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { expect, test } from 'vitest';
import { declaredAccess } from './declared-access.ts';
import { declaring } from '../testing/declaring.ts';

const getUser = (declaration: Parameters<typeof declaring<typeof DirectoryService>>[1]['getUser']) =>
  declaring(DirectoryService, { getUser: declaration }).method.getUser;

test('a method is declared for callers, for scopes with the field of the tenant, or for both', () => {
  expect(declaredAccess(KeysService.method.sign)).toEqual({
    callers: ['token'],
    scopes: [],
    tenantField: undefined,
  });
  expect(declaredAccess(getUser({ scopes: ['admin.users.read'], tenantField: 'tenant_id' }))).toEqual({
    callers: [],
    scopes: ['admin.users.read'],
    tenantField: 'tenantId',
  });
});

test.each([
  [{}, 'GetUser is declared for no caller'],
  [{ callers: ['token', 'tokens'] }, 'GetUser is declared for "tokens", which is no caller'],
  [{ scopes: ['x'], tenantField: 'tenantId' }, '"tenantId", declared to name the tenant, is no text'],
  [{ scopes: ['x'], tenantField: 'no_field' }, '"no_field", declared to name the tenant, is no text'],
])('the declaration %j is refused', (declaration, reason) => {
  expect(() => declaredAccess(getUser(declaration))).toThrow(reason);
});
