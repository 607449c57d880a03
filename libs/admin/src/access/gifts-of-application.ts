import { adminScopes, audienceOfEntry, builtInScopes, defaultSigningAlgorithm } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/admin-applications';
import type { Gift } from './gift.ts';
import { apiOwner } from './owners.ts';

/** What an application gives to who controls it, and to who administers by it. */
export function giftsOfApplication(application: Application): readonly Gift[] {
  const { clientId, scopes, audiences, introspectAudiences, claims, ciba } = application;
  const { idTokenSigningAlgorithm: algorithm } = application;
  const ofApis = scopes.filter((name) => !builtInScopes.has(name));
  const webhook = ciba?.url ?? '';
  return [
    ...ofApis.map((what) =>
      adminScopes.has(what)
        ? { field: 'scopes', what, scopes: [what], administers: true }
        : { field: 'scopes', what, scopes: ['admin.resources.write'], assigns: 'scope' as const },
    ),
    ...ownersBoundTo(application).map((what) => ({
      field: 'owners',
      what,
      scopes: [],
      administers: true,
      owner: what,
    })),
    ...introspectAudiences.map((what) => ({
      field: 'introspectAudiences',
      what,
      scopes: ['admin.resources.write'],
      assigns: 'audience' as const,
    })),
    // Its tokens are then good there: for who may give the scopes of that API, or for who writes the records of
    // everybody if there is none. Its own identifier is its own where no API has that.
    ...audiences.map((entry) => ({
      field: 'audiences',
      what: audienceOfEntry(entry),
      from: entry,
      scopes: ['admin.resources.write'],
      assigns: 'audience' as const,
      owner: '*',
      ...(entry === clientId && { own: true }),
    })),
    // It tells the application what the directory knows of people.
    ...Object.entries(claims).map(giftOfClaim),
    // As of resources: the keys of the shared issuer are those of all tenants there.
    ...(['', defaultSigningAlgorithm].includes(algorithm)
      ? []
      : [
          {
            field: 'idTokenSigningAlgorithm',
            what: algorithm,
            scopes: [],
            everyTenant: true,
            atSharedIssuer: true,
          },
        ]),
    // What answers there decides for people. Other addresses get what the application gets, which who changes it
    // controls anyway.
    ...(webhook === '' ? [] : [{ field: 'ciba.url', what: webhook, scopes: ['admin.users.write'] }]),
  ];
}

/**
 * Of whom an application writes records, or people by it. Without `owners` people write those of everybody, and so does
 * a client that may hold every scope.
 */
function ownersBoundTo({ owners, scopes, grantTypes }: Application): readonly string[] {
  if (owners.length > 0) return owners;
  const held = [...adminScopes.keys()].filter((scope) => scopes.includes(scope));
  if (held.length === 0) return [];
  const isForPeople = grantTypes.some((grant) => grant !== 'client_credentials');
  return isForPeople || held.length === adminScopes.size ? ['*'] : [apiOwner];
}

/**
 * What a claim tells an application, with all that decides where it stands and what of its source it has. APIs that
 * were made for another server take their roles from objects, whoever owns these: a claim in an access token that may
 * look like such roles is for who writes everybody's.
 */
function giftOfClaim([name, claim]: [string, Application['claims'][string]]): Gift {
  const { attribute, roles, targets, path, type, list, rolePrefix } = claim;
  const source = (roles ? ['roles', rolePrefix] : [attribute, type, list]).filter((part) => part !== '');
  const what = [[name, ...path].join('.'), 'from', ...source, 'in', ...targets].join(' ');
  // Two claims that read alike are two: names may have dots, too.
  const from = JSON.stringify([name, path, roles, attribute, type, list, rolePrefix, targets]);
  const isRoles =
    targets.includes('accessToken') && (path.length > 0 || rolePrefix !== '' || type === 'json');
  return isRoles
    ? { field: 'claims', what, from, scopes: ['admin.users.read', 'admin.roles.write'], owner: '*' }
    : { field: 'claims', what, from, scopes: ['admin.users.read'] };
}
