import type { CallContext, DescMessage, DescService, Handlers } from '@tessera/rpc';
import { z } from 'zod';
import { desiredOf, entryOf, shapeOf, valuesOf, type Fields } from '../fields/field.ts';
import { recordKinds, serviceOf, type RecordOf, type StandardKind } from '../record-kinds.ts';
import type { Outcome } from '../records/change-requests.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { recordForm, type RecordForm } from '../records/record-form.ts';
import type { RecordTransaction } from '../store/store.ts';

/** What a kind refuses besides what its fields do. */
export interface Refusals<K extends StandardKind> {
  /** Throws ConnectError if a record must not become this one. */
  readonly change?: (
    change: { readonly before: RecordOf[K] | undefined; readonly after: RecordOf[K] },
    around: RecordTransaction,
    form: Pick<RecordForm<never>, 'check'>,
  ) => Promise<void>;
  /** Throws ConnectError if it must stay. */
  readonly deletion?: (record: RecordOf[K], around: RecordTransaction) => Promise<void>;
}

type Message = Readonly<Record<string, unknown>>;

interface Standard {
  readonly service: DescService;
  readonly fields: Fields;
  readonly form: RecordForm<DescMessage>;
}

const known = new Map<StandardKind, Standard>();

/** The service of a kind, and how its records stand in messages. */
function standard(kind: StandardKind): Standard {
  const made = known.get(kind) ?? madeFor(kind);
  known.set(kind, made);
  return made;
}

function madeFor(kind: StandardKind): Standard {
  const { fields } = recordKinds[kind];
  const service = serviceOf(kind);
  const record = service.methods.find(({ localName }) => localName === 'get')?.output;
  if (record === undefined) throw new Error(`${service.typeName} reads no ${kind}.`);
  return { service, fields, form: recordForm(record, kind, Object.keys(fields)) };
}

/** The calls that read and change one record of a kind, as far as its service has them. */
export function standardCalls<K extends StandardKind>(
  kind: K,
  refuse: Refusals<K>,
  deps: RecordCallsDeps,
): Handlers<DescService> {
  const { service, fields, form } = standard(kind);
  const { key, list } = recordKinds[kind];
  const schema = z.strictObject(shapeOf(fields));
  const calls = recordCalls(
    {
      kind,
      form,
      entryOf: (record) => entryOf(fields, record as never),
      messageOf: (outcome) => messageOfStandard(kind, outcome),
      async desired(entry, owner, before, around) {
        const declared = form.parse(schema, entry);
        const after = { ...desiredOf(fields, declared, before as never), owner } as unknown as RecordOf[K];
        await refuse.change?.({ before, after }, around, form);
        return after;
      },
    },
    deps,
  );
  const given = ({ [kind]: record }: Message) => record as Message | undefined;
  const idIn = (message: Message | undefined) => (message?.[key] ?? '') as string;
  const handlers: Readonly<Record<string, (request: never, context: CallContext) => Promise<object>>> = {
    get: async (request: Message) => calls.get(String(request['tenantId']), idIn(request)),
    async list({ tenantId, ...page }: Message & Parameters<typeof calls.list>[1]) {
      const { found, nextPageToken } = await calls.list(String(tenantId), page);
      return { [list]: found, nextPageToken };
    },
    create: async (request: Message & Omit<Parameters<typeof calls.create>[1], 'id'>, context) => {
      const { [kind]: record, ...rest } = request;
      return calls.create(record as never, { ...rest, id: idIn(given(request)) } as never, context);
    },
    async update(request: Message, context) {
      const { [kind]: record, ...rest } = request;
      const etag = given(request)?.['etag'] ?? '';
      return calls.update(record as never, { ...rest, id: idIn(given(request)), etag } as never, context);
    },
    async delete({ [key]: id, ...request }: Message, context) {
      const impact = await calls.delete({ ...request, id, allow: refuse.deletion } as never, context);
      return impact === undefined ? {} : { impact };
    },
  };
  const offered = service.methods.map(({ localName }) => [localName, handlers[localName]] as const);
  const lacking = offered.filter(([, handler]) => handler === undefined).map(([name]) => name);
  if (lacking.length > 0) throw new Error(`${service.typeName} has calls of its own: ${lacking.join(', ')}`);
  return Object.fromEntries(offered) as Handlers<DescService>;
}

export function messageOfStandard<K extends StandardKind>(kind: K, outcome: Outcome<RecordOf[K]>) {
  const { fields, form } = standard(kind);
  return form.messageOf(valuesOf(fields, outcome.record as never), outcome);
}
