import type { NavigationItem } from '@tessera/pages';
import type { ConsoleSession } from './console-sessions.ts';
import { here, param, pathOf, type Visit } from './console-visit.ts';

/** The pages beside the one of a visit: those of the organization that it is about. */
export function navigationOf(
  visit: Visit,
  session: ConsoleSession | undefined,
): readonly NavigationItem[] | undefined {
  if (session === undefined) return undefined;
  const tenantId = param(visit, 'tenant') || session.tenantId;
  const items: readonly (readonly [string, string])[] = [
    ['/', 'Organizations'],
    [pathOf(tenantId), 'Overview'],
    [pathOf(tenantId, 'people'), 'People'],
    [pathOf(tenantId, 'applications'), 'Applications'],
    [pathOf(tenantId, 'apis'), 'APIs'],
    [pathOf(tenantId, 'roles'), 'Roles'],
    [pathOf(tenantId, 'providers'), 'Providers'],
    [pathOf(tenantId, 'settings'), 'Settings'],
    [pathOf(tenantId, 'access'), 'Access'],
    [pathOf(tenantId, 'sessions'), 'Sessions'],
    [pathOf(tenantId, 'audit'), 'Audit trail'],
    [pathOf(tenantId, 'keys'), 'Keys'],
    [pathOf(tenantId, 'find'), 'Find'],
    ['/sign-out', 'Sign out'],
  ];
  const path = atItsList(here(visit) || '/');
  const isAt = (root: string) => path === root || path.startsWith(`${root}/`);
  const nearest = items
    .map(([root]) => root)
    .filter(isAt)
    .toSorted((one, other) => other.length - one.length)[0];
  return items
    .filter(([root]) => visit.opens(root))
    .map(([root, label]) => ({
      path: root,
      label,
      isHere: root === nearest,
      keys: label === 'Find' ? '/ Control+K' : undefined,
    }));
}

/** A new record, and those that are deleted, stand beside the list of their kind. */
function atItsList(path: string): string {
  return path
    .replace(/^(\/o\/[^/]+\/)new-(application|api|role|provider)(?=\/|$)/, '$1$2s')
    .replace(/^(\/o\/[^/]+\/)new-person$/, '$1people')
    .replace(/^(\/o\/[^/]+\/)deleted-(?=people|applications)/, '$1');
}
