import { KeysService } from '@tessera/proto-gen/admin-keys';
import type { ConsolePageRow } from '../../console-visit.ts';
import { rotateKeysNowPage, rotateKeysPage, withdrawKeyPage } from './change-keys-pages.ts';
import { keysPage } from './keys-page.ts';

const { list, rotate, withdraw } = KeysService.method;
const own = { formTarget: 'own' } as const;
/** It gives a right, or destroys something. */
const grave = { ...own, needsFresh: true } as const;
const path = '/o/:tenant/keys';

/** The rows of the table of pages for signing keys, which operators see alone. */
export const keysRows: readonly ConsolePageRow[] = [
  { ...own, path, title: 'Signing keys', who: { sees: [list] }, page: keysPage },
  {
    ...grave,
    path: `${path}/rotate`,
    title: 'Rotate the signing keys?',
    label: 'Rotate the keys',
    who: { sees: [list], does: [rotate] },
    page: rotateKeysPage,
  },
  {
    ...grave,
    path: `${path}/rotate-now`,
    title: 'Rotate the signing keys at once?',
    label: 'A key has leaked',
    who: { sees: [list], does: [rotate] },
    page: rotateKeysNowPage,
  },
  {
    ...grave,
    path: `${path}/withdraw/:key`,
    title: 'Withdraw this signing key?',
    who: { sees: [list], does: [withdraw] },
    page: withdrawKeyPage,
  },
];
