import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { ConsolePageRow } from '../../console-visit.ts';
import { approvalsPage, denyApprovalPage } from './waiting-approvals-page.ts';
import { endSessionPage, signOutEverywherePage } from './end-session-pages.ts';
import { grantsPage } from './grants-page.ts';
import { rolesOfPersonPage } from './roles-of-person-page.ts';
import { sessionsPage } from './sessions-page.ts';
import { deletePersonPage, disablePage, enablePage } from './status-pages.ts';
import { withdrawAllPage, withdrawPage } from './withdraw-pages.ts';

const own = { formTarget: 'own' } as const;
/** It gives a right, or destroys something. */
const grave = { ...own, needsFresh: true } as const;
const users = UsersService.method;
const sessions = SessionsService.method;
const grants = GrantsService.method;
const consents = ConsentsService.method;
const approvals = ApprovalsService.method;

const organization = '/o/:tenant';
const person = `${organization}/people/:person`;

/** The rows of the table of pages for what people and applications have, and for its end. */
export const accessRows: readonly ConsolePageRow[] = [
  {
    ...own,
    path: `${organization}/sessions`,
    title: 'Sessions',
    who: { sees: [sessions.list] },
    page: sessionsPage,
  },
  {
    ...grave,
    path: `${person}/sessions/:session/end`,
    title: 'Sign out of this browser?',
    who: { sees: [users.get, sessions.list], does: [sessions.endSessions] },
    page: endSessionPage,
  },
  {
    ...grave,
    path: `${person}/sign-out`,
    title: 'Sign this person out everywhere?',
    who: { sees: [users.get, sessions.list], does: [sessions.endSessions] },
    page: signOutEverywherePage,
  },
  {
    ...own,
    path: `${organization}/access`,
    title: 'Access of applications',
    who: { sees: [consents.list, grants.list] },
    page: grantsPage,
  },
  {
    ...grave,
    path: `${person}/access/:application`,
    title: 'Take access back from this application?',
    who: { sees: [users.get, grants.list], does: [consents.delete] },
    page: withdrawPage,
  },
  {
    ...grave,
    path: `${person}/access`,
    title: 'Take access back from all applications?',
    who: { sees: [users.get, grants.list], does: [grants.revokeGrants] },
    page: withdrawAllPage,
  },
  {
    ...own,
    path: `${person}/approvals`,
    title: 'What waits for approval',
    who: { sees: [users.get, approvals.list] },
    page: approvalsPage,
  },
  {
    ...grave,
    path: `${person}/approvals/:approval`,
    title: 'Deny this request?',
    who: { sees: [users.get, approvals.list], does: [approvals.cancel] },
    page: denyApprovalPage,
  },
  {
    ...grave,
    path: `${person}/roles`,
    title: 'Change the roles of this person',
    who: { sees: [users.get, RolesService.method.list], does: [users.update] },
    page: rolesOfPersonPage,
  },
  {
    ...grave,
    path: `${person}/disable`,
    title: 'Disable this person?',
    who: { sees: [users.get, users.update], does: [users.update] },
    page: disablePage,
  },
  {
    ...grave,
    path: `${person}/enable`,
    title: 'Enable this person?',
    who: { sees: [users.get], does: [users.update] },
    page: enablePage,
  },
  {
    ...grave,
    path: `${person}/delete`,
    title: 'Delete this person?',
    who: { sees: [users.get, users.delete], does: [users.delete] },
    page: deletePersonPage,
  },
];
