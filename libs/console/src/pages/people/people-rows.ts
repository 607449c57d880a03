import { UsersService } from '@tessera/proto-gen/admin-users';
import type { ConsolePageRow } from '../../console-visit.ts';
import { editPersonPage } from './edit-person-page.ts';
import { newPersonPage } from './new-person-page.ts';

/** It gives a right, or destroys something. */
const grave = { formTarget: 'own', needsFresh: true } as const;
const users = UsersService.method;

const organization = '/o/:tenant';
const person = `${organization}/people/:person`;

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
];
