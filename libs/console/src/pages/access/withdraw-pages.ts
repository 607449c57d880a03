import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { confirmedOfPerson, type Sentence } from '../../confirmed.ts';
import { param } from '../../console-visit.ts';

const shownAtMost = 100;
/** Of a thousand each. */
const mostCalls = 100;

const revoked = (count: number): Sentence => [
  '{count, plural, one {# application has lost its access} other {# applications have lost their access}}',
  { count },
];

/** Takes back what a person has allowed one application. */
export const withdrawPage = confirmedOfPerson({
  message: 'The application has to ask {name} again. What it got before works until it expires, for minutes.',
  label: 'Take back',
  ends: async (visit, { tenantId, userId }) => {
    const clientId = param(visit, 'application');
    const request = { tenantId, userId, clientId, pageSize: shownAtMost };
    const { grants } = await visit.api(GrantsService).list(request, visit.call());
    const named: Sentence = ['The application {application} loses its access', { application: clientId }];
    return [
      named,
      ...grants.map(({ scopes }): Sentence => [
        'It may no longer use {scopes}',
        { scopes: scopes.join(' ') },
      ]),
    ];
  },
  act: async (visit, { tenantId, userId }) => {
    const request = { tenantId, userId, clientId: param(visit, 'application') };
    const { revokedGrants } = await visit.api(ConsentsService).delete(request, visit.call());
    return {
      title: 'The application has lost its access',
      message: 'It has to ask again.',
      ends: [revoked(revokedGrants)],
    };
  },
});

/** Takes back what keeps access to an account, of every application. */
export const withdrawAllPage = confirmedOfPerson({
  message:
    'No application keeps access to the account of {name}. What they got before works until it expires, for minutes.',
  label: 'Take all back',
  ends: async ({ api, call }, { tenantId, userId }) => {
    const { grants } = await api(GrantsService).list({ tenantId, userId, pageSize: shownAtMost }, call());
    const clients = [...new Set(grants.map(({ clientId }) => clientId))];
    return clients.length === 0
      ? [['Nothing is open that would end.']]
      : clients.map((application) => ['The application {application} loses its access', { application }]);
  },
  act: async ({ api, call }, { tenantId, userId }) => {
    let count = 0;
    for (let calls = 0; calls < mostCalls; calls += 1) {
      const answer = await api(GrantsService).revokeGrants({ tenantId, userId }, call());
      count += answer.revoked;
      if (!answer.more) break;
    }
    return {
      title: 'All applications have lost their access',
      message: 'They have to ask again when the person opens them.',
      ends: [revoked(count)],
    };
  },
});
