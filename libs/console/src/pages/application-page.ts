import {
  ApplicationsService,
  type Application,
  type ApplicationSecret,
} from '@tessera/proto-gen/admin-applications';
import type { Cell } from '@tessera/pages';
import { shortList, timeCell } from '../cells.ts';
import { kindOf } from '../kind-of-application.ts';
import { param, pathOf, type ConsolePage } from '../console-visit.ts';

/** One application: what it may do, and its secrets, without their values. */
export const applicationPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const clientId = param(visit, 'application');
    const { api, call } = visit;
    const [application, { secrets }] = await Promise.all([
      api(ApplicationsService).get({ tenantId, clientId }, call()),
      api(ApplicationsService).listSecrets({ tenantId, clientId }, call()),
    ]);
    return visit.send({
      template: 'application',
      data: {
        path: pathOf(tenantId, 'applications', clientId),
        name: application.name || clientId,
        facts: factsOf(application),
        isConfidential: application.type === 'confidential',
        secrets: shortList(
          'Secrets',
          ['Made', 'Expires', 'Last used'],
          secrets.map(rowOf),
          'It has no secret yet.',
        ),
      },
    });
  },
};

function factsOf(application: Application): readonly (readonly [string, Cell])[] {
  const { clientId, owner, status, allowedRoles, redirectUris, scopes, grantTypes } = application;
  const { description, publisher, homepage } = application;
  const texts: readonly (readonly [string, string])[] = [
    ['Client ID', clientId],
    ['What it is for', description],
    ['Publisher', publisher],
    ['Its https address', homepage],
    ['Owner', owner],
    ['Grant types', grantTypes.join(' ')],
    ['Redirect URIs', redirectUris.join(' ')],
    ['Scopes', scopes.join(' ')],
    ['Only for people with the role', allowedRoles.join(', ')],
  ];
  return [
    ['Kind', { sentence: kindOf(application) }],
    ['Status', { sentence: status === 'active' ? 'Active' : 'Disabled' }],
    ...texts.filter(([, text]) => text !== '').map(([label, text]) => [label, { text }] as const),
  ];
}

function rowOf({ createTime, expireTime, lastUseTime }: ApplicationSecret): readonly Cell[] {
  return [
    createTime === undefined ? { text: '' } : timeCell(createTime),
    expireTime === undefined ? { sentence: 'Never' } : timeCell(expireTime),
    lastUseTime === undefined ? { sentence: 'Never' } : timeCell(lastUseTime),
  ];
}
