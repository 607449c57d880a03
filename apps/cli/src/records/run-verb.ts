import { create, fromJson, toJson, type JsonObject, type Message } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { normalizeStart, uuid } from '@tessera/kit';
import { Option } from 'commander';
import type { User } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { ImpactSchema, type Impact } from '@tessera/proto-gen/impact';
import { readPages, type CallOptions } from '@tessera/rpc/caller';
import { counted, impactLines, requireValidateOnly } from '../operate/records/show-impact.ts';
import { orNotFound, withService, type ClientOf } from '../operate/records/with-service.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { deleteTenant } from './delete-tenant.ts';
import { fieldWith, methodOf, recordOf, settable, type Deed, type Noun, type Verb } from './nouns.ts';
import type { Format } from '../options.ts';
import { printed } from '../print-records.ts';
import { listOptions } from './list-options.ts';
import { givenBy, recordIn, recordOptions } from './record-options.ts';

/** What commander made of the options; which of them are there depends on the verb. */
interface Options {
  readonly tenant?: string;
  readonly username?: string;
  readonly userId?: string;
  readonly search?: string;
  readonly limit?: number;
  readonly deleted?: boolean;
  readonly newPerson?: boolean;
  readonly everythingIn?: string;
  readonly etag?: string;
  readonly takeOver?: boolean;
  readonly owner?: string;
  readonly validateOnly?: boolean;
  readonly impact?: boolean;
  readonly output?: Format;
  readonly file?: string;
  readonly clear?: readonly string[];
  readonly [name: string]: unknown;
}

/** What is asked of the directory. */
interface Question {
  readonly noun: Noun;
  readonly verb: Verb;
  readonly options: Options;
  /** The fields that are given. */
  readonly record: JsonObject;
  /** What a list is to fulfil. */
  readonly conditions?: Readonly<Record<string, unknown>>;
  /** One for the command: a create whose answer was lost is repeated, and happens once. */
  readonly requestId: string;
}

type Listing = Pick<Question, 'options' | 'conditions'>;

/** Calls the method of the verb. */
type Call = (request: Readonly<Record<string, unknown>>) => Promise<Message>;

const timeoutMs = 10_000;
/** People whose names begin alike, of which one page is looked at. */
const mostAlike = 1000;

/** Runs a command for records of one kind and prints the answer. Throws CommandError. */
export async function runVerb(noun: Noun, verb: Verb, options: Options, terminal: Terminal): Promise<void> {
  if (options.everythingIn !== undefined) return deleteTenant(options, terminal);
  const record =
    verb === 'create' || verb === 'update' ? await givenFields(noun, verb, options, terminal) : {};
  const conditions = verb === 'list' ? conditionsIn(noun, options, terminal) : {};
  const question: Question = { noun, verb, options, record, conditions, requestId: uuid() };
  requireValidateOnly(options);
  const isReading = verb === 'list' || verb === 'get';
  const { impact: ends, ...answered } = await withService('directory', terminal, {
    name: isReading ? 'Reading' : 'Changing the record',
    changes: !isReading && options.validateOnly !== true,
    saysWhere: !isReading,
    timeoutMs,
    run: (clientOf, call) => answerOf(question, clientOf, call),
  });
  const { output = 'yaml', validateOnly = false, tenant = '' } = options;
  const [impact] = ends === undefined ? [] : await counted([ends], terminal);
  const answer =
    impact === undefined || !('record' in answered)
      ? (answered.record ?? answered.records)
      : { ...answered.record, impact: toJson(ImpactSchema, create(ImpactSchema, impact)) };
  if (answer !== undefined) terminal.out(await printed(answer, output, columnsOf(noun, options)));
  else if (impact !== undefined) for (const line of impactLines(tenant, impact)) terminal.out(line);
  if (validateOnly) terminal.say('Nothing was changed.\n');
  else if (answer === undefined) terminal.say(`The ${noun.name} is deleted.\n`);
}

/** The fields of the file, and over them those of the options. */
async function givenFields(
  noun: Noun,
  verb: 'create' | 'update',
  options: Options,
  terminal: Terminal,
): Promise<JsonObject> {
  const record = options.file === undefined ? {} : await recordIn(options.file, terminal);
  for (const option of recordOptions(noun, verb)) {
    const given = givenBy(option, options);
    if (given !== undefined) record[option.field.jsonName] = await option.valueOf(given, terminal);
  }
  return record;
}

/** Throws CommandError. */
function conditionsIn(noun: Noun, options: Options, terminal: Terminal): Readonly<Record<string, unknown>> {
  const given = listOptions(noun).filter((option) => givenBy(option, options) !== undefined);
  if (options.deleted === true && given.length > 0)
    throw new CommandError(`--deleted takes no ${given.map(({ option }) => option.long).join(', ')}.`, 2);
  return Object.fromEntries(
    given.map((each) => [each.field.localName, each.valueOf(givenBy(each, options), terminal)]),
  );
}

/** What to print; nothing if a record was deleted. */
interface Answer {
  readonly record?: JsonObject;
  readonly records?: readonly JsonObject[];
  /** What the change would end, as the directory knows it. */
  readonly impact?: Impact | undefined;
}

async function answerOf(question: Question, clientOf: ClientOf, callOptions: CallOptions): Promise<Answer> {
  const { noun, verb, options, record, requestId } = question;
  const deed = verb === 'list' && options.deleted === true ? 'listDeleted' : verb;
  const call = callOf(noun, deed, clientOf, callOptions);
  const json = (message: Message) => toJson(recordOf(noun), message) as JsonObject;
  if (verb === 'list') return { records: (await listed(noun, deed, question, call)).map(json) };
  const { tenant: tenantId, validateOnly, takeOver, owner, etag, newPerson, impact } = options;
  if (verb === 'create') {
    const { userId } = options;
    const named = noun.name === 'user' ? userId && { userId } : { [noun.key]: keyIn(noun, options) };
    const created = { ...record, ...named };
    const made = { tenantId, validateOnly, requestId, owner, newPerson, ...withRecord(noun, verb, created) };
    return { record: json(await call(made)) };
  }
  const id = noun.name === 'user' ? await userIdOf(question, clientOf, callOptions) : keyIn(noun, options);
  const unknown =
    verb === 'restore'
      ? `No ${noun.name} ${id} was deleted within the last 30 days, or there is no such tenant.`
      : `There is no ${noun.name} ${id}, or no such tenant.`;
  const found = call({
    tenantId,
    [noun.key]: id,
    ...(verb !== 'get' && { validateOnly, takeOver, owner, impact }),
    ...(verb === 'delete' && { etag }),
    ...(verb === 'update' && {
      ...withRecord(noun, verb, { ...record, [noun.key]: id, ...(etag && { etag }) }),
      updateMask: { paths: maskOf(noun, record, options) },
    }),
  }).catch(orNotFound(unknown));
  const message: Message & { readonly impact?: Impact } = await found;
  return { ...(verb !== 'delete' && { record: json(message) }), impact: message.impact };
}

function callOf(noun: Noun, deed: Deed, clientOf: ClientOf, callOptions: CallOptions): Call {
  const method = methodOf(noun, deed);
  if (method === undefined) throw new Error(`there is no method to ${deed} ${noun.indefinite}`);
  const client = clientOf(noun.service) as unknown as Readonly<
    Record<string, (request: object, options: CallOptions) => Promise<Message>>
  >;
  const known = new Set(method.input.fields.map(({ localName }) => localName));
  return async (request) => {
    const fields = Object.entries(request).filter(([name, value]) => value !== undefined && known.has(name));
    return client[method.localName]?.(Object.fromEntries(fields), callOptions) as Promise<Message>;
  };
}

async function listed(
  noun: Noun,
  deed: Deed,
  { options: { tenant, search, limit }, conditions = {} }: Listing,
  call: Call,
): Promise<readonly Message[]> {
  const { localName } = fieldWith(methodOf(noun, deed)?.output ?? recordOf(noun), recordOf(noun));
  const { found } = await readPages(async (page) => {
    const answer = (await call({ tenantId: tenant, search, ...conditions, ...page })) as unknown as Readonly<
      Record<string, unknown>
    >;
    return { found: answer[localName] as Message[], nextPageToken: String(answer['nextPageToken']) };
  }, limit);
  return found;
}

/** The field of a request with the record. */
function withRecord(noun: Noun, verb: Verb, record: JsonObject): Readonly<Record<string, Message>> {
  const schema = recordOf(noun);
  const { localName } = fieldWith(methodOf(noun, verb)?.input ?? schema, schema);
  try {
    return { [localName]: fromJson(schema, record) };
  } catch (error) {
    throw new CommandError(`The ${noun.name} is not understood: ${explained(error)}`);
  }
}

/** Of the library's error what concerns a person: `field tessera…User.roles: expected Array, got string`. */
function explained(error: unknown): string {
  const text = error instanceof Error ? error.message : 'it is not valid';
  return text.replaceAll(/\b(field|message) tessera\.[\w.]*?(\w+)(?=[:\s]|$)/g, '$1 $2');
}

/** The fields to change, as the proto calls them. */
function maskOf(noun: Noun, record: JsonObject, { clear = [] }: Options): string[] {
  const fields = settable(noun);
  const named = (name: string) => fields.find((field) => field.jsonName === name || field.name === name);
  const unknown = clear.filter((name) => named(name) === undefined);
  if (unknown.length > 0) throw new CommandError(`A ${noun.name} has no ${unknown.join(', ')} to clear.`, 2);
  const names = [...Object.keys(record), ...clear].map((name) => named(name)?.name ?? name);
  if (names.length === 0) throw new CommandError('Nothing to change: give fields, --clear or --file.', 2);
  return names;
}

function keyIn(noun: Noun, options: Options): string {
  return String(options[new Option(noun.keyOption).attributeName()]);
}

async function userIdOf(
  { noun, verb, options }: Question,
  clientOf: ClientOf,
  callOptions: CallOptions,
): Promise<string> {
  const { tenant: tenantId = '', username: identifier = '', userId } = options;
  if (userId !== undefined) return userId;
  if (verb === 'restore')
    return deletedUserIdOf(noun, tenantId, identifier, callOf(noun, 'listDeleted', clientOf, callOptions));
  const { user } = await clientOf(DirectoryService)
    .findUser({ tenantId, identifier }, callOptions)
    .catch(orNotFound(`There is no user ${identifier} in the tenant ${tenantId}.`));
  return user?.userId ?? '';
}

/** Several people may have been deleted who had one name after the other. */
async function deletedUserIdOf(noun: Noun, tenant: string, username: string, call: Call): Promise<string> {
  const normalized = (name: string) => normalizeStart(name.trim(), 'NFC', 512).toLowerCase();
  // In the order of names, so that those of exactly this one come first.
  const options = { tenant, search: username, limit: mostAlike };
  const users = (await listed(noun, 'listDeleted', { options }, call)) as User[];
  const found = users.filter((user) => normalized(user.username) === normalized(username));
  const [first, ...others] = found;
  if (first === undefined)
    throw new CommandError(
      `No user ${username} of the tenant ${tenant} was deleted within the last 30 days.`,
    );
  if (others.length === 0) return first.userId;
  const ids = found.map(
    ({ userId, deleteTime }) =>
      `${userId}, deleted ${deleteTime ? timestampDate(deleteTime).toISOString() : ''}`,
  );
  throw new CommandError(
    `Several people of that name were deleted. Name one by --user-id:\n${ids.join('\n')}`,
  );
}

function columnsOf({ columns }: Noun, { deleted = false }: Options): readonly string[] {
  return deleted ? [...columns, 'deleteTime'] : columns;
}
