import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { uuid } from '@tessera/kit';
import { Code, ConnectError, declaredAccess } from '@tessera/rpc';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { nouns } from '../../records/nouns.ts';
import { administeredMethods } from './administration.ts';
import { textAt, wordsOf, type Answer, type GoodRequest } from './crossing.ts';
import type { Party } from './party.ts';
import { isPlain } from './plain-fields.ts';
import { randomName } from './throw-away-tenants.ts';

/** Makes something of a kind; resolves with what its calls name it by, under the names of their fields. */
type Maker = (of: Party, method: string) => Promise<JsonObject>;

/**
 * By service, but for kinds whose records refer to nothing. A field of a message that has a name of another kind
 * elsewhere is written with its message: `DeclaredScope.name`.
 */
const makers: Readonly<Record<string, Maker>> = {
  TenantsService: async (of) => {
    const { etag } = await of.call('TenantsService.Get', { tenantId: of.id });
    // A caller that may delete one here has no other.
    return { etag: etag ?? '', requestId: uuid(), search: of.id, validateOnly: true };
  },
  ResourcesService: async (of, method) => {
    const audience = `https://${randomName(of.id)}.example`;
    const scope = `${randomName(of.id)}.read`;
    const record = { audience, name: 'API', scopes: [{ name: scope }], roles: [of.role] };
    const names = { audience, 'DeclaredScope.name': scope, roles: [of.role], search: audience, name: 'API' };
    return { ...names, ...(await created(of, method, 'Resources', { resource: record })) };
  },
  UsersService: person,
  ApplicationsService: application,
  async SessionsService(of) {
    const { userId, username, password } = await of.signedIn();
    await of.signIn(of.newBrowser(), { identifier: username, password });
    const { sessions } = await of.call('SessionsService.List', { tenantId: of.id, userId });
    return { userId, sessionId: textAt(sessions, '0', 'sessionId') };
  },
  async GrantsService(of) {
    for (const _each of [1, 2]) await of.newTokens();
    const { userId } = await of.person();
    const { grants } = await of.call('GrantsService.List', { tenantId: of.id, userId });
    return { userId, clientId: of.web, grantId: textAt(grants, '0', 'grantId') };
  },
  async ConsentsService(of) {
    const couple = await of.couple();
    for (const { browser } of couple) await of.allowPartner(browser);
    return { userId: couple[0].userId, clientId: of.partner };
  },
  async ApprovalsService(of) {
    const { userId, approvalId } = await of.startCiba();
    return { userId, approvalId };
  },
  async KeysService(of) {
    const { keys } = await of.call('KeysService.List', { tenantId: of.id });
    return { kid: textAt(keys, '0', 'kid') };
  },
  async AuditService(of) {
    const { userId } = await person(of, 'Get');
    return { about: userId ?? '' };
  },
  DeclaredStateService: async () => ({}),
  DirectoryService: personAndApplication,
};

/** Of a kind of which the command line has a sample. */
function makerOf(service: DescService): Maker | undefined {
  const noun = nouns.find((one) => one.service === service);
  if (noun?.sample === undefined) return undefined;
  const { name, key, sample } = noun;
  return async (of, method) => {
    const record: JsonObject = sample(randomName(of.id));
    const made = await created(of, method, service.name.replace(/Service$/, ''), { [name]: record });
    return { ...record, search: record[key] ?? '', ...made };
  };
}

/** Unless the request creates the record: what the server says of the one that is there. */
async function created(of: Party, method: string, kind: string, record: JsonObject): Promise<JsonObject> {
  const requestId = uuid();
  if (method === 'Create') return { requestId, etag: '', userId: '' };
  const made = await of.call(`${kind}Service.Create`, { tenantId: of.id, requestId, ...record });
  return {
    requestId,
    etag: made['etag'] ?? '',
    ...(made['userId'] !== undefined && { userId: made['userId'] }),
  };
}

/** Deletes what the request finds among what was deleted; resolves with the version that it then has. */
async function deleted(of: Party, method: string, kind: string, key: JsonObject): Promise<JsonObject> {
  if (!/Undelete|ListDeleted/.test(method)) return {};
  await of.call(`${kind}Service.Delete`, { tenantId: of.id, ...key });
  const { etag } = await of.call(`${kind}Service.Undelete`, { tenantId: of.id, ...key, validateOnly: true });
  return { etag: etag ?? '' };
}

async function person(of: Party, method: string): Promise<JsonObject> {
  const username = randomName(of.id);
  const phoneNumber = `+4670${String(Number.parseInt(username.slice(-7), 16)).padStart(9, '0')}`;
  const user = { username, email: `${username}@example.com`, phoneNumber, roles: [of.role] };
  const made = await created(of, method, 'Users', { user });
  const gone = await deleted(of, method, 'Users', { userId: made['userId'] ?? '' });
  const held = method === 'DeleteCredential' ? await credentials(of) : {};
  // Nobody of them is linked with a provider.
  const asked = { search: username, 'ListUsersRequest.role': of.role, 'ListUsersRequest.provider': '' };
  return { ...user, ...made, ...gone, ...held, ...asked, identifier: username, purpose: 'reset' };
}

/** Of the person who made a passkey. Nobody can be linked to the provider, and an app has no name to try. */
async function credentials(of: Party): Promise<JsonObject> {
  const { userId, passkey } = await of.withPasskey();
  const { etag } = await of.call('UsersService.Get', { tenantId: of.id, userId });
  return { userId, etag: etag ?? '', passkeyId: passkey.id, provider: of.provider, totp: true };
}

async function application(of: Party, method: string): Promise<JsonObject> {
  const clientId = randomName(of.id);
  const names = {
    scopes: [of.scope],
    defaultScopes: [of.scope],
    introspectAudiences: [of.audience],
    allowedRoles: [of.role],
    roles: [of.role],
  };
  const record = {
    clientId,
    name: 'New',
    type: 'confidential',
    grantTypes: ['client_credentials'],
    ...names,
  };
  const made = await created(of, method, 'Applications', { application: record });
  const secret =
    made['etag'] && (await of.call('ApplicationsService.CreateSecret', { tenantId: of.id, clientId }));
  const gone = await deleted(of, method, 'Applications', { clientId });
  return { ...record, ...made, ...(secret as JsonObject | undefined), ...gone, search: clientId };
}

async function personAndApplication(of: Party): Promise<JsonObject> {
  return { ...(await application(of, 'Get')), ...(await person(of, 'Get')) };
}

/** Fields whose values are answered otherwise than unknown ones, though they tell nothing, each with the reason. */
const open: Readonly<Record<string, string>> = {
  pageToken: 'a place in an order, of which the caller sees only the own records',
  'Create.clientId': 'client identifiers are unique over all tenants',
  'Create.audience': 'audiences are unique over the tenants of one issuer, unless they are shared',
};

/** Methods that are not tried, each with the reason. */
const withoutCrossing: Readonly<Record<string, string>> = {
  'DeclaredStateService.Apply': 'the document names no tenant but that of the request, which Get tries',
  'DeclaredStateService.Diff': 'as Apply',
  'SessionsService.CountSignIns':
    'it names times and nothing of a tenant; count-sign-ins.test.ts counts beside another tenant',
  'GrantsService.CountTokens':
    'it names times and nothing of a tenant; token-counts.test.ts counts beside another tenant',
  'MailService.List':
    'no mail waits where a server takes it; outbox-calls.test.ts tries that of another tenant',
  'MailService.Delete': 'as List',
  'TenantsService.List': 'it names no tenant, and the operator tenant alone may call it',
};

const isOurs = ({ typeName }: DescMessage): boolean => /^tessera\.(admin|directory)\./.test(typeName);

const valueOf = ({ localName, parent }: DescField, values: JsonObject): JsonValue | undefined =>
  values[`${parent.name}.${localName}`] ?? (parent.name === 'DeclaredScope' ? undefined : values[localName]);

/** The fields of a request that may name something, and for which there is neither a value nor a reason why not. */
export function unknownFields(message: DescMessage, values: JsonObject, path = ''): string[] {
  return message.fields.flatMap((field) => {
    const name = path + field.localName;
    if (field.message !== undefined)
      return isOurs(field.message) ? unknownFields(field.message, values, `${name}.`) : [];
    const isText = field.fieldKind !== 'map' && field.scalar === ScalarType.STRING;
    return isText && valueOf(field, values) === undefined && !isPlain(field) ? [name] : [];
  });
}

/** The request of a method with values, by the names of its fields. */
function filled(message: DescMessage, values: JsonObject): JsonObject {
  const entries = message.fields.flatMap((field): [string, JsonValue][] => {
    if (field.message === undefined) {
      const value = valueOf(field, values);
      return value === undefined ? [] : [[field.localName, value]];
    }
    const inner = isOurs(field.message) && field.fieldKind !== 'map' ? filled(field.message, values) : {};
    if (Object.keys(inner).length === 0) return [];
    return [[field.localName, field.fieldKind === 'list' ? [inner] : inner]];
  });
  return Object.fromEntries(entries);
}

/**
 * Which fields each request of a method leaves out: one goes on with a page, and of alternatives there is one in
 * each.
 */
function leftOut(name: string, { input }: DescMethod): readonly (readonly string[])[] {
  const alternatives = input.oneofs.flatMap(({ fields }) => fields.map(({ localName }) => localName));
  if (name === 'GrantsService.RevokeGrants') alternatives.push('grantId', 'userId', 'clientId');
  // Two people allowed the one application.
  if (name === 'ConsentsService.List')
    return [['pageToken'], ['pageToken', 'userId'], ['pageToken', 'clientId'], ['userId']];
  if (alternatives.length > 0)
    return alternatives.map((one) => alternatives.filter((another) => another !== one));
  return 'pageToken' in input.field ? [['pageToken'], ['search']] : [[]];
}

/**
 * Requests of every method of the administration API, as its descriptors are: of tenants at the shared issuer, where
 * the claim of a token alone tells them apart; of those that have issuers of their own, what is about their keys.
 */
export function administrationRequests(isShared: boolean): readonly GoodRequest<Party>[] {
  return [...administeredMethods]
    .filter(([name]) => !(name in withoutCrossing) && name.startsWith('KeysService.') !== isShared)
    .flatMap(([name, method]) => leftOut(name, method).flatMap((fields) => requestsOf(name, method, fields)));
}

function requestsOf(name: string, method: DescMethod, without: readonly string[]): GoodRequest<Party>[] {
  const { input } = method;
  const values = valuesOf(name, method, without);
  const of: Omit<GoodRequest<Party>, 'name' | 'ask'> = {
    values,
    reads: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    open: Object.keys(open).map((each) => each.replace(`${method.name}.`, '')),
  };
  const asOperator = async (party: Party, request: JsonObject) => answerTo(party, name, request);
  const asAdministrator: GoodRequest<Party> = {
    ...of,
    name,
    doors: ['tenantId'],
    untried: (words) => words.startsWith(`${Code.PermissionDenied} `) && !words.includes(' is for operators'),
    // The control is what the operator may do, as some calls are not for administrators of tenants.
    ask: async (as, request, owner) =>
      as.id === owner.id ? asOperator(as, request) : answerTo(as, name, request, await as.token()),
  };
  // There the operator names a tenant, and what is looked for must be in it.
  const isForOperator =
    declaredAccess(method).tenantField === undefined && 'tenantId' in input.field && method.name !== 'Create';
  return isForOperator
    ? [asAdministrator, { ...of, name: `${name} of a tenant`, within: ['tenantId'], ask: asOperator }]
    : [asAdministrator];
}

function valuesOf(name: string, { parent, input, ...method }: DescMethod, without: readonly string[]) {
  async function make(of: Party, made: string): Promise<JsonObject> {
    const maker = makers[parent.name] ?? makerOf(parent);
    if (maker === undefined) throw new Error(`nothing makes what the calls of ${parent.name} name`);
    const values = { ...(await maker(of, made)), tenantId: of.id };
    const unknown = unknownFields(input, { pageToken: '', ...values });
    if (unknown.length > 0) throw new Error(`nothing is known of ${unknown.join(', ')}`);
    const request = filled(input, values);
    for (const field of without) delete request[field];
    if (!('pageToken' in input.field) || without.includes('pageToken')) return request;
    const { nextPageToken } = await of.call(name, { ...request, pageSize: 1 });
    return { ...request, pageToken: nextPageToken ?? '' };
  }
  const kept = new Map<string, Promise<JsonObject>>();
  return async (of: Party, role: 'owns' | 'asks'): Promise<JsonObject> => {
    // What is there is tried as the name of something new, too.
    if (role === 'owns') return make(of, method.name === 'Create' ? 'Get' : method.name);
    if (nouns.some(({ service }) => service === parent && service !== TenantsService))
      return make(of, method.name);
    // Sign-ins cost time, and these calls take nothing of who asks for something of others.
    const made = kept.get(of.id) ?? make(of, method.name);
    kept.set(of.id, made);
    return made;
  };
}

async function answerTo(of: Party, name: string, request: JsonObject, accessToken?: string): Promise<Answer> {
  try {
    const answer = await of.attempt(name, request, accessToken);
    return { words: JSON.stringify(wordsOf(answer)), text: JSON.stringify(answer) };
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const words = `${error.code} ${error.rawMessage.replaceAll(/\d+/g, 'n')}`;
    return { words, text: error.message, tookNothing: true };
  }
}
