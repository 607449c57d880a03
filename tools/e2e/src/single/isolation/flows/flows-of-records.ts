import type { JsonObject } from '@bufbuild/protobuf';
import { randomUUID } from 'node:crypto';
import { textAt } from '../crossings.ts';
import type { Flow, Flows, Values } from './flow.ts';
import type { Noun } from '../new-people.ts';
import type { Tenant } from '../tenant.ts';

/** A kind of record that administration makes, and what identifies one. */
interface Kind {
  readonly noun: Noun;
  readonly id: string;
  /** What is looked for, if not the identifier. */
  readonly searched?: string;
  /** What else is asked of those who are looked for. */
  asked?(tenant: Tenant): JsonObject;
  fields(tenant: Tenant): JsonObject;
  readonly known?: Flow['known'];
}

const users: Kind = {
  noun: 'User',
  id: 'userId',
  searched: 'username',
  // Nobody of them is linked with a provider.
  asked: (tenant) => ({ role: `${tenant.id}-clerk`, provider: '' }),
  fields(tenant) {
    const name = tenant.newName();
    return { username: name, email: `${name}@example.com`, roles: [`${tenant.id}-clerk`] };
  },
};

const applications: Kind = {
  noun: 'Application',
  id: 'clientId',
  fields: (tenant) => ({
    clientId: tenant.newName(),
    name: 'New',
    type: 'confidential',
    grantTypes: ['client_credentials'],
    scopes: [`${tenant.id}.read`],
    introspectAudiences: [tenant.audience],
    allowedRoles: [`${tenant.id}-clerk`],
  }),
  known: { 'application.clientId': 'client identifiers are unique over all tenants' },
};

const resources: Kind = {
  noun: 'Resource',
  id: 'audience',
  fields(tenant) {
    const name = tenant.newName();
    return { audience: `https://${name}.example`, name, scopes: [{ name: `${name}.read` }] };
  },
};

const roles: Kind = { noun: 'Role', id: 'name', fields: (tenant) => ({ name: tenant.newName() }) };

/** The calls that every kind of record has. */
function flowsOf({ noun, id, searched = id, asked, fields, known }: Kind): Flows {
  const made = (tenant: Tenant) => tenant.record(noun, fields(tenant));
  const service = `admin.${noun}sService`;
  return {
    [`${service}.Get`]: async (tenant) => ({ [id]: textAt(await made(tenant), id) }),
    [`${service}.List`]: async (tenant) => ({
      search: textAt(await made(tenant), searched),
      ...asked?.(tenant),
    }),
    [`${service}.Create`]: {
      isNew: true,
      values: (tenant) => ({ [noun.toLowerCase()]: fields(tenant), requestId: randomUUID() }),
      ...(known !== undefined && { known }),
    },
    async [`${service}.Delete`](tenant) {
      const record = await made(tenant);
      return { [id]: textAt(record, id), etag: textAt(record, 'etag') };
    },
  };
}

/** The call that changes a record. */
function updateOf({ noun, id, fields }: Kind): Flows {
  const values: Values = async (tenant) => {
    const record = await tenant.record(noun, fields(tenant));
    const changed = { [id]: textAt(record, id), etag: textAt(record, 'etag'), name: 'Another name' };
    return { [noun.toLowerCase()]: changed };
  };
  return { [`admin.${noun}sService.Update`]: values };
}

/** The calls on what was deleted. */
function deletedOf({ noun, id, searched = id, fields }: Kind): Flows {
  const deleted = async (tenant: Tenant) => {
    const record = await tenant.record(noun, fields(tenant));
    await tenant.forget(noun, { [id]: textAt(record, id) });
    return record;
  };
  const service = `admin.${noun}sService`;
  return {
    [`${service}.Undelete`]: async (tenant) => ({ [id]: textAt(await deleted(tenant), id) }),
    [`${service}.ListDeleted`]: async (tenant) => ({ search: textAt(await deleted(tenant), searched) }),
  };
}

const merged = (all: readonly Flows[]): Flows =>
  Object.fromEntries(all.flatMap((flows) => Object.entries(flows)));

async function newApplication(tenant: Tenant) {
  const { noun, fields } = applications;
  return { clientId: textAt(await tenant.record(noun, fields(tenant)), 'clientId') };
}

/** Calls on records. */
export const flowsOfRecords: Flows = {
  ...merged([users, applications, resources, roles].map(flowsOf)),
  ...merged([users, applications, resources].map(updateOf)),
  ...merged([users, applications].map(deletedOf)),
  'admin.ApplicationsService.ListSecrets': newApplication,
  'admin.ApplicationsService.CreateSecret': async (tenant) => ({
    ...(await newApplication(tenant)),
    requestId: randomUUID(),
  }),
  async 'admin.ApplicationsService.DeleteSecret'(tenant) {
    const { clientId } = await newApplication(tenant);
    return { clientId, secretId: await tenant.newSecret(clientId) };
  },
};
