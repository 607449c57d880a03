import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import { type Resource } from '@tessera/proto-gen/admin-resources';
import type { Cell, List } from '@tessera/pages';
import { kindLabels } from '../applications/application-kinds.ts';
import { shortList } from '../../cells.ts';
import { otherOwner, ownerCell } from '../../forms/owned.ts';
import { pathOf, type ConsolePage } from '../../console-visit.ts';
import { apiOf, nameOfApi, whichApi } from './which-api.ts';

/** Applications that are looked at for who uses an API. */
const lookedAt = 1000;

/** One API: its scopes, and the applications that may ask for them. */
export const apiPage: ConsolePage = {
  load: async (visit) => {
    const { tenantId, path } = whichApi(visit);
    const [api, { applications, nextPageToken }] = await Promise.all([
      apiOf(visit),
      visit.api(ApplicationsService).list({ tenantId, pageSize: lookedAt }, visit.call()),
    ]);
    const owner = otherOwner(api);
    return visit.send({
      template: 'api',
      data: {
        path,
        name: nameOfApi(api),
        owner,
        facts: factsOf(api),
        scopes: scopesOf(api, owner === undefined && visit.offers(`${path}/edit`) ? path : undefined),
        users: usersOf(api, applications, tenantId),
        isPartial: nextPageToken !== '',
      },
    });
  },
};

function factsOf({ audience, owner, tokenType, signingAlgorithm, roles }: Resource) {
  const facts: readonly (readonly [string, Cell])[] = [
    ['Audience', { text: audience }],
    ['Owner', ownerCell(owner)],
    ['Type of its tokens', { text: tokenType }],
    ['Signature of its tokens', { text: signingAlgorithm }],
    ['Roles in its tokens', { text: roles.join(', ') }],
  ];
  return facts.filter(([, cell]) => !('text' in cell && cell.text === ''));
}

/** @param path of the API; undefined where nothing is changed */
function scopesOf({ scopes }: Resource, path: string | undefined): List {
  const rows = scopes.map(({ name, description, descriptions }): readonly Cell[] => [
    { text: name, href: path && `${path}/scopes/${encodeURIComponent(name)}` },
    { text: description },
    { text: Object.keys(descriptions).toSorted().join(' ') },
  ]);
  const empty = 'It has no scope yet. Applications ask for an API by its scopes: add one.';
  return shortList('Scopes', ['Name', 'What people read', 'Also in'], rows, empty);
}

function usersOf({ scopes }: Resource, applications: readonly Application[], tenantId: string): List {
  const names = new Set(scopes.map(({ name }) => name));
  const rows = applications.flatMap((application): readonly Cell[][] => {
    const used = application.scopes.filter((scope) => names.has(scope));
    if (used.length === 0) return [];
    const { clientId, name, kind } = application;
    return [
      [
        { text: name || clientId, href: pathOf(tenantId, 'applications', clientId) },
        { sentence: kindLabels[kind] ?? kind },
        { text: used.join(' ') },
      ],
    ];
  });
  return shortList(
    'Applications that use it',
    ['Name', 'Kind', 'Scopes'],
    rows,
    'No application uses it yet.',
  );
}
