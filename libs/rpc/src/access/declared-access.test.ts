import { expect, test } from 'vitest';
import { declaredAccess } from './declared-access.ts';
import { declaring } from '../testing/declaring.ts';
import { TrialService } from '../testing/trial/trial-services.ts';

const read = (declaration: Parameters<typeof declaring<typeof TrialService>>[1]['read']) =>
  declaring(TrialService, { read: declaration }).method.read;

test('a method is declared for callers, for scopes with the field of the tenant, or for both', () => {
  expect(declaredAccess(TrialService.method.write)).toEqual({
    callers: ['token'],
    scopes: [],
    tenantField: undefined,
    anyText: false,
  });
  expect(declaredAccess(read({ scopes: ['admin.users.read'], tenantField: 'tenant_id' }))).toEqual({
    callers: [],
    scopes: ['admin.users.read'],
    tenantField: 'tenantId',
    anyText: false,
  });
});

test.each([
  [{}, 'Read is declared for no caller'],
  [{ callers: ['token', 'tokens'] }, 'Read is declared for "tokens", which is no caller'],
  [{ scopes: ['x'], tenantField: 'tenantId' }, '"tenantId", declared to name the tenant, is no text'],
  [{ scopes: ['x'], tenantField: 'no_field' }, '"no_field", declared to name the tenant, is no text'],
])('the declaration %j is refused', (declaration, reason) => {
  expect(() => declaredAccess(read(declaration))).toThrow(reason);
});
