import { AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { OAuthError } from '@tessera/oauth';
import type { FastifyReply } from 'fastify';
import { shortList, timeOrNone } from '../../cells.ts';
import { confirmPage, countedEnds, showDone } from '../../confirmed.ts';
import { saidOf } from '../../shown-refusals.ts';
import type { Finding } from '../../providers/try-provider.ts';
import {
  fieldsOf,
  here,
  param,
  pathOf,
  sentForm,
  type ConsolePage,
  type Visit,
} from '../../console-visit.ts';
import { declare, declaring, impactOf, pathOfProvider, providerOf } from './declared-providers.ts';

/** One provider, what to register there, and the test of it. */
export const identityProviderPage: ConsolePage = {
  load: (visit) => show(visit),
  act: async (visit) => {
    sentForm(visit);
    const { provider, redirectUri } = await providerOf(visit);
    // Who may not set it up sends no request there either.
    await visit.api(DeclaredStateService).diff(declaring(visit, [provider], true), visit.call());
    const { issuer = '', clientId = '' } = provider;
    return show(visit, await visit.tryProvider({ issuer, clientId, redirectUri }));
  },
};

async function show(visit: Visit, findings?: readonly Finding[]): Promise<FastifyReply> {
  const { provider, isOurs, redirectUri } = await providerOf(visit);
  const refusals = await refusalsAt(visit, provider.name).catch((error: unknown) => saidOf(error));
  const texts: readonly (readonly [string, string])[] = [
    ['Identifier', provider.name],
    ['Issuer', provider.issuer ?? ''],
    ['Client ID', provider.clientId ?? ''],
    ['Email domains', (provider.domains ?? []).join(' ')],
  ];
  return visit.send({
    template: 'provider',
    data: {
      name: provider.displayName ?? provider.name,
      isOurs,
      path: here(visit),
      facts: [
        ...texts.filter(([, text]) => text !== '').map(([label, text]) => [label, { text }] as const),
        [
          'New people',
          {
            sentence: provider.createsAccounts === true ? 'Get an account' : 'Get no account automatically',
          },
        ],
      ],
      redirectUri,
      findings,
      fields: fieldsOf(visit),
      refusals: typeof refusals === 'string' ? refusals : shortListOf(refusals),
    },
  });
}

/** What went wrong with it lately. */
async function refusalsAt(visit: Visit, name: string): Promise<readonly AuditEvent[]> {
  const request = { tenantId: param(visit, 'tenant'), event: 'auth.login.failed', about: name, pageSize: 10 };
  return (await visit.api(AuditService).search(request, visit.call())).events;
}

function shortListOf(events: readonly AuditEvent[]) {
  return shortList(
    'Recent failures',
    ['When', 'Why', 'More'],
    events.map(({ time, reason, details }) => [
      timeOrNone(time),
      { text: reason },
      { text: typeof details?.['detail'] === 'string' ? details['detail'] : '' },
    ]),
    'Nothing.',
  );
}

/** Throws `access_denied` for a provider of a file. */
async function oursOf(visit: Visit) {
  const found = await providerOf(visit);
  if (found.isOurs) return found;
  throw new OAuthError('access_denied', 'A file declares this provider. Change it there.');
}

const removed = (visit: Visit, listed: Awaited<ReturnType<typeof providerOf>>['listed']) =>
  declaring(
    visit,
    listed
      .filter(({ isOurs, provider }) => isOurs && provider.name !== param(visit, 'provider'))
      .map(({ provider }) => provider),
    false,
  );

/** Removes a provider that the console has set up. */
export const removeProviderPage = confirmPage<Awaited<ReturnType<typeof providerOf>>>({
  read: oursOf,
  nameOf: ({ provider }) => provider.displayName ?? provider.name,
  etagOf: () => '',
  message: 'People can no longer sign in with {name}. Those with no other way to sign in are locked out.',
  label: 'Remove this provider',
  asksName: true,
  ends: async (visit, { listed }) =>
    countedEnds(await impactOf(visit, removed(visit, listed)), 'What ends could not be counted.'),
  back: (visit) => pathOfProvider(visit),
  act: async (visit) => {
    const { listed, provider } = await oursOf(visit);
    await declare(visit, removed(visit, listed), { deletes: provider.name });
    return showDone(visit, {
      title: 'The provider is removed',
      message: 'People can no longer sign in with it.',
      next: pathOf(param(visit, 'tenant'), 'providers'),
      label: 'Back to the providers',
    });
  },
});
