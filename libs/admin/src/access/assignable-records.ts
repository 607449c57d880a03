import type { ResourcesService } from '@tessera/proto-gen/admin-resources';
import type { RolesService } from '@tessera/proto-gen/admin-roles';
import { readPages, type CallOptions, type Client } from '@tessera/rpc';
import type { Gift } from './gift.ts';

export type Assigned = NonNullable<Gift['assigns']>;

/** A record that other records get something of. */
interface Assignable {
  readonly owner: string;
  /** For which records everybody who changes them may give it. */
  readonly assignableBy: readonly string[];
}

/** Which record of a tenant has a role, a scope or an audience; undefined for what none has. */
export type Assignables = (assigned: Assigned, name: string) => Assignable | undefined;

interface Records {
  readonly resources: Pick<Client<typeof ResourcesService>, 'list'>;
  readonly roles: Pick<Client<typeof RolesService>, 'list'>;
}

/** Reads the records of a tenant that have what is given. Throws ConnectError. */
export async function assignablesOf(
  { resources, roles }: Records,
  tenantId: string,
  given: ReadonlySet<Assigned>,
  call: CallOptions,
): Promise<Assignables> {
  const readApis = async () =>
    readPages(async (page) => {
      const answer = await resources.list({ tenantId, ...page }, call);
      return { found: answer.resources, nextPageToken: answer.nextPageToken };
    });
  const readRoles = async () =>
    readPages(async (page) => {
      const answer = await roles.list({ tenantId, ...page }, call);
      return { found: answer.roles, nextPageToken: answer.nextPageToken };
    });
  const apis = given.has('scope') || given.has('audience') ? (await readApis()).found : [];
  const ofRoles = given.has('role') ? (await readRoles()).found : [];
  const byName: Readonly<Record<Assigned, ReadonlyMap<string, Assignable>>> = {
    scope: new Map(apis.flatMap((api) => api.scopes.map(({ name }) => [name, api]))),
    audience: new Map(apis.map(({ audience, owner }) => [audience, { owner, assignableBy: [] }])),
    role: new Map(ofRoles.map(({ name, owner }) => [name, { owner, assignableBy: [] }])),
  };
  return (assigned, name) => byName[assigned].get(name);
}
