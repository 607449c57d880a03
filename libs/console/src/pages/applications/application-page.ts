import {
  ApplicationsService,
  type Application,
  type ApplicationSecret,
} from '@tessera/proto-gen/admin-applications';
import type { Cell } from '@tessera/pages';
import { kindLabels } from './application-kinds.ts';
import { actCell, shortList, timeCell } from '../../cells.ts';
import { otherOwner, ownerCell } from '../../forms/owned.ts';
import type { ConsolePage } from '../../console-visit.ts';
import { nameOfApplication, whichOf } from './which-application.ts';
import { snippetFor } from './snippet.ts';

/** One application: what it may do, how a program uses it, and its secrets, without their values. */
export const applicationPage: ConsolePage = {
  load: async (visit) => {
    const { tenantId, clientId, path } = whichOf(visit);
    const { api, call } = visit;
    const [application, { secrets }] = await Promise.all([
      api(ApplicationsService).get({ tenantId, clientId }, call()),
      api(ApplicationsService).listSecrets({ tenantId, clientId }, call()),
    ]);
    return visit.send({
      template: 'application',
      data: {
        path,
        name: nameOfApplication(application),
        owner: otherOwner(application),
        facts: factsOf(application),
        isActive: application.status === 'active',
        isConfidential: application.type === 'confidential',
        snippet: await snippetFor(visit, application, application.kind),
        secrets: shortList(
          'Secrets',
          ['Made', 'Expires', 'Last used', 'Remove'],
          secrets.map((secret) => rowOf(secret, path)),
          'It has no secret yet.',
        ),
      },
    });
  },
};

function factsOf(application: Application): readonly (readonly [string, Cell])[] {
  const { clientId, owner, status, allowedRoles, redirectUris, scopes, grantTypes } = application;
  const { description, publisher, homepage, kind, lastUseTime } = application;
  const texts: readonly (readonly [string, string])[] = [
    ['Client ID', clientId],
    ['What it is for', description],
    ['Publisher', publisher],
    ['Its https address', homepage],
    ['Grant types', grantTypes.join(' ')],
    ['Redirect URIs', redirectUris.join(' ')],
    ['Addresses after signing out', application.logoutRedirectUris.join(' ')],
    ['Scopes', scopes.join(' ')],
    ['Only for people with the role', allowedRoles.join(', ')],
  ];
  return [
    ['Kind', { sentence: kindLabels[kind] ?? kind }],
    ['Status', { sentence: status === 'active' ? 'Active' : 'Disabled' }],
    ...(lastUseTime === undefined ? [] : [['Last used', timeCell(lastUseTime)] as const]),
    ...(owner === '' ? [] : [['Owner', ownerCell(owner)] as const]),
    ...texts.filter(([, text]) => text !== '').map(([label, text]) => [label, { text }] as const),
  ];
}

function rowOf(
  { secretId, createTime, expireTime, lastUseTime }: ApplicationSecret,
  path: string,
): readonly Cell[] {
  return [
    createTime === undefined ? { text: '' } : timeCell(createTime),
    expireTime === undefined ? { sentence: 'Never' } : timeCell(expireTime),
    lastUseTime === undefined ? { sentence: 'Never' } : timeCell(lastUseTime),
    actCell('Remove', `${path}/secrets/${encodeURIComponent(secretId)}`),
  ];
}
