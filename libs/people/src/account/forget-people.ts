import type { PersonId } from '@tessera/directory/ground';
import type { Queryable } from '@tessera/stores';
import { forgetFactors } from '../change/factors.postgres.ts';
import { forgetIdentities } from '../identity/identities.postgres.ts';
import { forgetSignIns } from './sign-ins.postgres.ts';

/** Removes what people who are gone for good signed in with, and when. */
export async function forgetPeople(queryable: Queryable, people: readonly PersonId[]): Promise<void> {
  await forgetFactors(queryable, people);
  await forgetIdentities(queryable, people);
  await forgetSignIns(queryable, people);
}
