import type { NamedCalls } from './named-calls.ts';
import { namesOf } from './names.ts';
import { newPeopleOf } from './new-people.ts';
import { visitsOf } from './visits.ts';

export type Tenant = ReturnType<typeof createTenant>;

/** A tenant with an issuer of its own, and what its people and clients get from it. */
export function createTenant(calls: NamedCalls, id: string, baseUrl: string) {
  const names = namesOf(id, baseUrl);
  const visits = visitsOf(names, calls);
  return { ...names, ...visits, ...newPeopleOf(names, calls, visits) };
}
