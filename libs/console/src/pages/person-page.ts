import { AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import { GrantsService, type Grant } from '@tessera/proto-gen/admin-grants';
import { SessionsService, type Session } from '@tessera/proto-gen/admin-sessions';
import { UsersService, type User, type UserCredentials } from '@tessera/proto-gen/admin-users';
import { withParameters, type Cell, type List } from '@tessera/pages';
import { timestampMs } from '@tessera/rpc';
import { otherOwner, ownerCell } from '../forms/owned.ts';
import { actCell, browserCell, shortList, timeCell, timeOrNone } from '../cells.ts';
import { nameOf, statusOf } from '../shown-person.ts';
import { param, pathOf, type ConsolePage } from '../console-visit.ts';
import { clientCell, eventCell, outcomeCell } from './trail/event-words.ts';

const shownAtOnce = 20;

/** One person: status and why, ways in, sessions, applications, activity. */
export const personPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const userId = param(visit, 'person');
    const whose = { tenantId, userId };
    const isOneself = visit.session().userId === userId;
    const { api, call } = visit;
    const [user, credentials, { sessions }, { grants }, { events }] = await Promise.all([
      api(UsersService).get(whose, call()),
      api(UsersService).getCredentials(whose, call()),
      api(SessionsService).list({ ...whose, pageSize: shownAtOnce }, call()),
      api(GrantsService).list({ ...whose, pageSize: shownAtOnce }, call()),
      api(AuditService).search({ tenantId, about: userId, pageSize: shownAtOnce }, call()),
    ]);
    return visit.send({
      template: 'person',
      data: {
        path: pathOf(tenantId, 'people', userId),
        name: nameOf(user),
        owner: otherOwner(user),
        isOneself,
        facts: factsOf(user, credentials),
        isLocked: user.lockExpireTime !== undefined,
        isDisabled: user.status !== 'active',
        hasPassword: credentials.waysIn.includes('password'),
        hasFactors: credentials.hasTotp || credentials.passkeys.length > 0,
        ways: waysOf(credentials, pathOf(tenantId, 'people', userId)).map((cells) =>
          // Nobody takes a way in from themselves here.
          isOneself ? cells.filter((cell) => !('isAct' in cell)) : cells,
        ),
        sessions: sessionsOf(sessions, pathOf(tenantId, 'people', userId)),
        applications: applicationsOf(grants, tenantId),
        activity: activityOf(events, tenantId),
        trail: withParameters(pathOf(tenantId, 'audit'), { person: userId }),
      },
    });
  },
};

type Fact = readonly [label: string, cell: Cell];

function factsOf(user: User, { waysIn, links }: UserCredentials): readonly Fact[] {
  const facts: readonly (Fact | undefined)[] = [
    ['Status', { sentence: statusOf(user) }],
    user.lockExpireTime && [
      'Too many wrong passwords or codes: locked until',
      { time: timestampMs(user.lockExpireTime), isExact: true },
    ],
    waysIn.length === 0
      ? ([
          'Sign-in',
          {
            sentence:
              links.length > 0
                ? 'Only an open link lets this person in.'
                : 'Nothing lets this person in. Send them a link.',
          },
        ] as const)
      : undefined,
    ['User name', { text: user.username }],
    ['Email address', { text: user.email }],
    ['Phone number', { text: user.phoneNumber }],
    ['Roles', { text: user.roles.join(', ') }],
    ['Last sign-in', user.lastSignInTime ? timeCell(user.lastSignInTime) : { sentence: 'None known' }],
    user.createTime && ['Added', timeCell(user.createTime)],
    ['Owner', ownerCell(user.owner)],
    ['Identifier', { text: user.userId }],
  ];
  return facts.filter(
    (fact): fact is Fact => fact !== undefined && !('text' in fact[1] && fact[1].text === ''),
  );
}

const wayNames: Readonly<Record<string, string>> = {
  password: 'Password',
  passkey: 'Passkey',
  provider: 'Sign-in of another organization',
  mail_code: 'Code by email',
};

function waysOf(credentials: UserCredentials, person: string): readonly (readonly Cell[])[] {
  const { waysIn, passkeys, hasTotp, recoveryCodes, providers, links } = credentials;
  const listed = waysIn.filter((way) => way !== 'passkey' && way !== 'provider');
  return [
    ...listed.map((way) => [{ sentence: wayNames[way] ?? way }]),
    ...passkeys.map(({ name, lastUseTime, passkeyId }) => [
      { sentence: 'Passkey' },
      { text: name },
      ...(lastUseTime === undefined ? [] : [timeCell(lastUseTime)]),
      actCell('Remove', `${person}/passkeys/${encodeURIComponent(passkeyId)}/remove`),
    ]),
    ...providers.map(({ name, linkTime }) => [
      { sentence: 'Sign-in of another organization' },
      { text: name },
      ...(linkTime === undefined ? [] : [timeCell(linkTime)]),
      actCell('Remove', `${person}/linked/${encodeURIComponent(name)}/remove`),
    ]),
    ...(hasTotp ? [[{ sentence: 'Authenticator app' }, actCell('Remove', `${person}/app/remove`)]] : []),
    ...(recoveryCodes > 0
      ? [
          [
            {
              sentence: '{count, plural, one {# recovery code} other {# recovery codes}}',
              values: { count: recoveryCodes },
            },
          ],
        ]
      : []),
    ...links.map(({ purpose, expireTime }) => [
      { sentence: purpose === 'invitation' ? 'Open invitation' : 'Open link for a new password' },
      ...(expireTime === undefined ? [] : [timeCell(expireTime)]),
    ]),
  ];
}

function sessionsOf(sessions: readonly Session[], person: string): List {
  return shortList(
    'Sessions',
    ['Browser', 'Address', 'Signed in', 'Last used', 'End'],
    sessions.map(({ userAgent, ipAddress, createTime, lastUseTime, sessionId }) => [
      browserCell(userAgent),
      { text: ipAddress },
      timeOrNone(createTime),
      timeOrNone(lastUseTime),
      actCell('Sign out', `${person}/sessions/${encodeURIComponent(sessionId)}/end`),
    ]),
    'This person is signed in nowhere.',
  );
}

function applicationsOf(grants: readonly Grant[], tenantId: string): List {
  return shortList(
    'Applications that keep access',
    ['Application', 'May', 'Last used', 'End'],
    grants.map(({ clientId, scopes, lastUseTime, userId }) => [
      { text: clientId, href: pathOf(tenantId, 'applications', clientId) },
      { text: scopes.join(' ') },
      timeOrNone(lastUseTime),
      actCell('Take back', pathOf(tenantId, 'people', userId, 'access', clientId)),
    ]),
    'No application keeps access to this account.',
  );
}

function activityOf(events: readonly AuditEvent[], tenantId: string): List {
  return shortList(
    'Activity',
    ['When', 'What', 'Outcome', 'Application', 'Address'],
    events.map((event) => [
      timeOrNone(event.time),
      eventCell(event),
      outcomeCell(event, tenantId),
      clientCell(event, tenantId),
      { text: event.ipAddress },
    ]),
    'Nothing is recorded about this person.',
  );
}
