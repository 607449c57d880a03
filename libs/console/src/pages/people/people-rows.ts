import { UsersService } from '@tessera/proto-gen/admin-users';
import type { ConsolePageRow } from '../../console-visit.ts';
import { deletedPeoplePage, restorePersonPage } from './deleted-people-pages.ts';
import { editPersonPage } from './edit-person-page.ts';
import { newPersonPage } from './new-person-page.ts';
import { removeAppPage, removeLinkedPage, removePasskeyPage } from './remove-credential-pages.ts';

/** It gives a right, or destroys something. */
const grave = { formTarget: 'own', needsFresh: true } as const;
const users = UsersService.method;

const organization = '/o/:tenant';
const person = `${organization}/people/:person`;

const removes = {
  sees: [users.get, users.getCredentials, users.deleteCredential],
  does: [users.deleteCredential],
};

/** The rows of the table of pages with which people are added and changed. */
export const peopleRows: readonly ConsolePageRow[] = [
  {
    ...grave,
    path: `${organization}/new-person`,
    title: 'Add a person',
    who: { sees: [users.list, users.listDeleted], does: [users.create] },
    page: newPersonPage,
  },
  {
    ...grave,
    path: `${person}/edit`,
    title: 'Edit this person',
    who: { sees: [users.get], does: [users.update] },
    page: editPersonPage,
  },
  {
    ...grave,
    path: `${person}/passkeys/:passkey/remove`,
    title: 'Remove this passkey?',
    who: removes,
    page: removePasskeyPage,
  },
  {
    ...grave,
    path: `${person}/app/remove`,
    title: 'Remove the authenticator app?',
    who: removes,
    page: removeAppPage,
  },
  {
    ...grave,
    path: `${person}/linked/:linked/remove`,
    title: 'Remove sign-in with this provider?',
    who: removes,
    page: removeLinkedPage,
  },
  {
    formTarget: 'own',
    path: `${organization}/deleted-people`,
    title: 'Deleted people',
    who: { sees: [users.listDeleted] },
    page: deletedPeoplePage,
  },
  {
    ...grave,
    path: `${organization}/deleted-people/:person/restore`,
    title: 'Restore this person?',
    who: { sees: [users.undelete], does: [users.undelete] },
    page: restorePersonPage,
  },
];
