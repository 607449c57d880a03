import { otherPaths } from '@tessera/oauth';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { accountPath, type AccountPageName } from '../paths.ts';
import { signInToPage, type PlaceOfPage } from '../sign-in/sign-in-place.ts';
import type { AccountVisit } from './sections/account-section.ts';

/** What the pages of a sign-in are for, by the visit. */
const visits = {
  see: {
    name: OwnPage_Name.ACCOUNT,
    lead: 'See your account at <b>{name}</b>.',
  },
  change: {
    name: OwnPage_Name.ACCOUNT_CHANGE,
    lead: 'Change how you sign in to your account at <b>{name}</b>.',
  },
  add_passkey: {
    name: OwnPage_Name.ADD_PASSKEY,
    lead: 'Add a passkey to your account at <b>{name}</b>.',
  },
  add_totp: {
    name: OwnPage_Name.ADD_TOTP,
    lead: 'Protect your account at <b>{name}</b> with an authenticator app.',
  },
  new_recovery_codes: {
    name: OwnPage_Name.NEW_RECOVERY_CODES,
    lead: 'Get new recovery codes for your account at <b>{name}</b>.',
  },
} as const satisfies Record<'see' | AccountVisit, object>;

/** To see a page of the account, or on the way to a change. */
export type Visit = keyof typeof visits;

/** The visit that a form names. */
export function visitOf(name: string): Visit {
  return Object.hasOwn(visits, name) ? (name as Visit) : 'see';
}

/** Where a person signs in on the way to a page of the account. All of these forms are sent to the overview. */
export function signInForAccount(tenantId: string, page: AccountPageName, visit: Visit = 'see'): PlaceOfPage {
  const { name, lead } = visits[visit];
  return signInToPage({
    path: otherPaths.account,
    home: accountPath(undefined, page),
    page: { name, tenantId },
    lead,
    subject: visit === 'see' ? tenantId : `${tenantId}\0${visit}`,
    fields: [
      { name: 'tenant', value: tenantId },
      { name: 'visit', value: visit },
      { name: 'page', value: page },
    ],
  });
}
