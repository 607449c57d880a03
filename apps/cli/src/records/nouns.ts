import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { RecordKind } from '@tessera/directory';

/** A kind of record as the command line knows it; its fields come from the message. */
export interface Noun {
  readonly name: RecordKind;
  readonly service: DescService;
  /** `an application` */
  readonly indefinite: string;
  /** The field that names a record of the tenant, and its option. */
  readonly key: string;
  readonly keyOption: string;
  /** The columns of a table, as the fields are called in JSON. */
  readonly columns: readonly string[];
}

const byKind: { readonly [K in RecordKind]: Omit<Noun, 'name'> } = {
  tenant: {
    service: TenantsService,
    indefinite: 'a tenant',
    key: 'tenantId',
    keyOption: '--tenant <id>',
    columns: ['tenantId', 'name', 'status', 'issuer', 'owner'],
  },
  resource: {
    service: ResourcesService,
    indefinite: 'an API resource',
    key: 'audience',
    keyOption: '--audience <audience>',
    columns: ['audience', 'name', 'scopes', 'tokenType', 'signingAlgorithm', 'owner'],
  },
  role: {
    service: RolesService,
    indefinite: 'a role',
    key: 'name',
    keyOption: '--name <name>',
    columns: ['name', 'owner'],
  },
  user: {
    service: UsersService,
    indefinite: 'a person',
    key: 'userId',
    keyOption: '--username <identifier>',
    columns: ['username', 'email', 'name', 'status', 'roles', 'lastSignInTime', 'owner', 'userId'],
  },
  application: {
    service: ApplicationsService,
    indefinite: 'an application',
    key: 'clientId',
    keyOption: '--client-id <id>',
    columns: ['clientId', 'name', 'type', 'status', 'grantTypes', 'owner'],
  },
};

export const nouns: readonly Noun[] = (Object.keys(byKind) as RecordKind[]).map((name) => ({
  name,
  ...byKind[name],
}));

export const verbs = ['list', 'get', 'create', 'update', 'delete', 'restore'] as const;
export type Verb = (typeof verbs)[number];
/** What is done to records: a verb, or `list --deleted`. */
export type Deed = Verb | 'listDeleted';

/** The method of a verb; undefined where the kind has none. */
export function methodOf({ service }: Noun, deed: Deed): DescMethod | undefined {
  const name = deed === 'restore' ? 'undelete' : deed;
  return service.methods.find(({ localName }) => localName === name);
}

/** The record that `get` answers. */
export function recordOf(noun: Noun): DescMessage {
  const method = methodOf(noun, 'get');
  if (method === undefined) throw new Error(`there is no method that reads ${noun.indefinite}`);
  return method.output;
}

/** The field of a request or an answer that has the record, or the records. */
export function fieldWith(message: DescMessage, record: DescMessage): DescField {
  const field = message.fields.find((candidate) => candidate.message?.typeName === record.typeName);
  if (field === undefined) throw new Error(`${message.typeName} has no ${record.typeName}`);
  return field;
}

const setByServer = new Set([
  'etag',
  'owner',
  'createTime',
  'updateTime',
  'deleteTime',
  'impact',
  'lastSignInTime',
  'lockExpireTime',
]);

/** The fields of a record that people set. */
export function settable(noun: Noun): readonly DescField[] {
  return recordOf(noun).fields.filter(
    ({ localName }) => !setByServer.has(localName) && localName !== noun.key,
  );
}
