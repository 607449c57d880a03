import { AuditService } from '@tessera/proto-gen/admin-audit';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { accessRows } from './pages/access/access-rows.ts';
import { findPage } from './pages/find-page.ts';
import { homePage } from './pages/home-page.ts';
import { keysRows } from './pages/keys/keys-rows.ts';
import { lockDownPage } from './pages/lock-down-page.ts';
import { organizationsPage } from './pages/organizations-page.ts';
import { passwordLinkPage } from './pages/password-link-page.ts';
import { peopleRows } from './pages/people/people-rows.ts';
import { peoplePage } from './pages/people-page.ts';
import { personPage } from './pages/person-page.ts';
import { resetFactorsPage } from './pages/reset-factors-page.ts';
import { callbackPage, signedOutPage, signInPage, signOutPage, startPage } from './pages/signing-in.ts';
import { trailRows } from './pages/trail/trail-rows.ts';
import { unlockPage } from './pages/unlock-page.ts';
import { setupPageTable } from './setup-page-table.ts';
import type { ConsolePageRow, Visit } from './console-visit.ts';

const own = { formTarget: 'own' } as const;
const anyone = { ...own, who: 'anyone' } as const;
const users = UsersService.method;

const organization = '/o/:tenant';
const person = `${organization}/people/:person`;

/** The pages of the console. */
export const pageTable: readonly ConsolePageRow[] = [
  // The form leads to the issuer of the organization.
  {
    path: '/sign-in',
    who: 'anyone',
    title: 'Sign in to the console',
    formTarget: 'client',
    page: signInPage,
  },
  { ...anyone, path: '/start', title: 'Sign in to the console', page: startPage },
  { ...anyone, path: '/callback', title: 'Sign in to the console', page: callbackPage },
  { ...anyone, path: '/signed-out', title: 'You are signed out of the console', page: signedOutPage },
  {
    ...own,
    path: '/',
    title: 'Organizations',
    who: { sees: [TenantsService.method.list] },
    page: organizationsPage,
  },
  { ...own, path: organization, title: 'Overview', who: { sees: [users.list] }, page: homePage },
  { ...own, path: `${organization}/find`, title: 'Find', who: { sees: [users.list] }, page: findPage },
  { ...own, path: `${organization}/people`, title: 'People', who: { sees: [users.list] }, page: peoplePage },
  {
    ...own,
    path: person,
    title: 'Person',
    who: {
      sees: [
        users.get,
        users.getCredentials,
        SessionsService.method.list,
        GrantsService.method.list,
        AuditService.method.search,
      ],
    },
    page: personPage,
  },
  {
    ...own,
    path: `${person}/unlock`,
    title: 'Unlock this person?',
    needsFresh: true,
    who: { sees: [users.get], does: [users.unlock] },
    page: unlockPage,
  },
  {
    ...own,
    path: `${person}/link`,
    title: 'Give this person a new password?',
    needsFresh: true,
    who: { sees: [users.get, users.getCredentials], does: [users.createPasswordLink] },
    page: passwordLinkPage,
  },
  {
    ...own,
    path: `${person}/reset`,
    title: 'Remove the second factors of this person?',
    needsFresh: true,
    who: { sees: [users.get, users.resetSecondFactors], does: [users.resetSecondFactors] },
    page: resetFactorsPage,
  },
  {
    ...own,
    path: `${person}/lockdown`,
    title: 'Lock this account down?',
    needsFresh: true,
    who: { sees: [users.get, users.lockDown], does: [users.lockDown] },
    page: lockDownPage,
  },
  ...setupPageTable,
  ...peopleRows,
  ...accessRows,
  ...trailRows,
  ...keysRows,
  { ...anyone, path: '/sign-out', title: 'Sign out of the console?', label: 'Sign out', page: signOutPage },
];

/** Pages that nobody looks for: they send the browser elsewhere, or are shown after something. */
const aside: ReadonlySet<string> = new Set([
  '/sign-in',
  '/start',
  '/callback',
  '/signed-out',
  '/looks.css',
  '/why',
  '/o/:tenant/find',
]);

/** What `Visit.pagesOf` gives. */
export function pagesOf(visit: Visit, tenantId: string): ReturnType<Visit['pagesOf']> {
  return pageTable
    .filter(({ path }) => !aside.has(path))
    .map(({ path, title, label = title }) => ({
      path: path.replace(':tenant', encodeURIComponent(tenantId)),
      label,
    }))
    .filter(({ path }) => !path.includes(':') && visit.offers(path));
}
