import { describe, expect, it } from 'vitest';
import { builtInPrefix, adminRoles, adminScopes } from './admin-scopes.ts';
import { builtInScopes, isScopeToken, serviceScopes } from './request/scopes.ts';

describe('the scopes and roles of administrators', () => {
  it('are scopes that no other built-in scope is', () => {
    const names = [...adminScopes.keys()];
    expect(names).toHaveLength(20);
    expect(
      names.filter((name) => !isScopeToken(name) || builtInScopes.has(name) || serviceScopes.has(name)),
    ).toEqual([]);
  });

  it('are roles with a reserved prefix, each with scopes that exist', () => {
    const scopes = Object.fromEntries([...adminRoles].map(([role, held]) => [role, [...held]]));
    expect(Object.keys(scopes).every((role) => role.startsWith(builtInPrefix))).toBe(true);
    expect(
      Object.values(scopes)
        .flat()
        .filter((scope) => !adminScopes.has(scope)),
    ).toEqual([]);
    expect(scopes['tessera.administrator']).toEqual([...adminScopes.keys()]);
    expect(scopes['tessera.auditor']?.filter((scope) => scope.endsWith('.write'))).toEqual([]);
    // It gives no right: nothing that writes records is in it.
    expect(scopes['tessera.helpdesk']?.filter((scope) => scope.endsWith('.write'))).toEqual([
      'admin.helpdesk.write',
      'admin.sessions.write',
      'admin.grants.write',
    ]);
  });
});
