import { invalidFields, pageOf, type PageRequest } from '@tessera/rpc';
import type { Queryable } from '@tessera/stores';
import {
  askable,
  askedTypes,
  conditions,
  isFirstWord,
  orders,
  type Order,
  type OrderName,
  type PeopleFilter,
} from '../users/lists/people-orders.ts';
import { userTable } from '../users/table.postgres.ts';
import type { UserRecord } from '../users/fields.ts';
import { selectedOf, storedRecord, type Row } from './read-records.postgres.ts';
import type { RecordPage } from './store.ts';

/** Where a page begins, or ends. */
interface Place {
  readonly by: OrderName;
  /** What the rows of the order have: a word, the role and so on. */
  readonly value: unknown;
  readonly key: string;
  readonly userId: string;
}

/**
 * People that a page looks at, of whom only some of what is asked holds: some ten milliseconds of work. A page may have
 * fewer than asked for, or none, and another one after it.
 */
const lookedAtOnce = 2000;

/** A page of the people of a tenant of whom all holds that is asked. Throws InvalidArgument for a token of no page. */
export async function searchPeople(
  queryable: Queryable,
  tenantId: string,
  filter: PeopleFilter,
  { after, size }: Pick<PageRequest, 'after' | 'size'>,
  atOnce = lookedAtOnce,
): Promise<RecordPage<UserRecord>> {
  const place = after === '' ? await firstPlace(queryable, tenantId, filter, atOnce) : placeIn(after, filter);
  if (place === undefined) return { records: [], next: undefined };
  const { rows } = await queryable.query<PlacedRow>({
    name: `directory.people_by_${place.by}_${atOnce}`,
    text: pageBy(place.by, atOnce),
    values: [tenantId, ...valuesOf(filter), place.value, place.key, place.userId, size + 1],
  });
  const { page, last } = pageOf(rows, { size });
  const next = last ?? (await endOf(queryable, tenantId, place, atOnce));
  return {
    records: page.map((row) => storedRecord(userTable, row)),
    next: next && textOf({ ...place, key: next.place_key, userId: next.place_user }),
  };
}

type PlacedRow = Row & { readonly place_key: string; readonly place_user: string };

/** $2 and those after it; null: not asked. */
const valuesOf = (filter: PeopleFilter): unknown[] => askable.map((name) => filter[name] ?? null);

const parameterOf = (name: keyof PeopleFilter): string =>
  `$${askable.indexOf(name) + 2}::${askedTypes[name]}`;

const behindAsked = askable.length + 2;

/** After what is asked: the value of the order, the key and the person after which the page begins, and its limit. */
const at = {
  value: `$${behindAsked}`,
  key: `$${behindAsked + 1}`,
  userId: `$${behindAsked + 2}`,
  limit: `$${behindAsked + 3}`,
};

/** Of all that is asked what finds the fewest, as far as they are counted; undefined if it is for no word at all. */
async function firstPlace(
  queryable: Queryable,
  tenantId: string,
  filter: PeopleFilter,
  atOnce: number,
): Promise<Place | undefined> {
  const { rows } = await queryable.query<{ readonly by: keyof PeopleFilter; readonly word: string | null }>({
    name: `directory.count_people_${atOnce}`,
    text: countBy(atOnce),
    values: [tenantId, ...valuesOf(filter)],
  });
  if (filter.text !== undefined && !rows.some(({ by }) => by === 'text')) return undefined;
  // The index has nobody who is active.
  const found = rows.find(({ by }) => by !== 'status' || filter.status !== 'active');
  const by = found?.by ?? 'everybody';
  const value = found?.word ?? (by === 'everybody' ? true : filter[by]);
  const { start = '' }: Order = orders[by];
  // From the word itself on: Postgres begins where the place is, whatever else bounds the words.
  return { by, value, key: found?.word ?? start, userId: '' };
}

/** SQL: how many each thing finds that is asked, of a text each of its words; the fewest first. */
function countBy(atOnce: number): string {
  const counts = askable.map((by) => {
    const asked = parameterOf(by);
    const [word, from] =
      by === 'text'
        ? ['asked.word', `FROM unnest(directory.words_of(${asked})) AS asked(word)`]
        : ['NULL', ''];
    const counted = `${rowsBy(by, by === 'text' ? word : asked)} LIMIT ${atOnce}`;
    return `SELECT '${by}' AS by, ${word} AS word, (SELECT count(*) FROM (${counted}) AS counted) AS found
              ${from} WHERE ${asked} IS NOT NULL`;
  });
  return `${counts.join(' UNION ALL ')} ORDER BY found`;
}

/** The last place that a page looks at; undefined if it comes to the end of the order before. */
async function endOf(
  queryable: Queryable,
  tenantId: string,
  { by, value, key, userId }: Place,
  atOnce: number,
): Promise<Pick<PlacedRow, 'place_key' | 'place_user'> | undefined> {
  const { rows } = await queryable.query<PlacedRow>({
    name: `directory.end_of_people_by_${by}_${atOnce}`,
    text: `SELECT ${toldKey(by)} AS place_key, d.user_id AS place_user
             FROM (${rowsBy(by, `$2::${typeOf(by)}`, { key: '$3', userId: '$4' })} OFFSET ${atOnce - 1} LIMIT 1) d
            WHERE $3::text IS NOT NULL`,
    values: [tenantId, value, key, userId],
  });
  return rows[0];
}

/**
 * SQL: a page. Each person of the order is looked at by the index, whatever the planner thinks of their number: as a
 * join it may read all tables instead.
 */
function pageBy(by: OrderName, atOnce: number): string {
  const value = `${at.value}::${typeOf(by)}`;
  const holds = askable.map((name) => {
    const asked = parameterOf(name);
    return `(${asked} IS NULL OR ${conditions[name](asked)})`;
  });
  if (by === 'text') holds.push(isFirstWord('d.key', value));
  return `SELECT ${selectedOf(userTable)}, ${toldKey(by)} AS place_key, d.user_id AS place_user
            FROM (${rowsBy(by, value, at)} LIMIT ${atOnce}) d
           CROSS JOIN LATERAL (
             SELECT u.*, u.xmin FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
              WHERE u.tenant_id = $1 AND u.user_id = d.user_id AND ${holds.join(' AND ')} LIMIT 1) u
           WHERE ${at.key}::text IS NOT NULL
           ORDER BY ${orderOf(by, 'd.key')} LIMIT ${at.limit}`;
}

/** SQL: the rows of an order, from its first or from a later place on. */
function rowsBy(by: OrderName, value: string, after?: Pick<typeof at, 'key' | 'userId'>): string {
  const { from, rows, key, type = 'text' }: Order = orders[by];
  const isBehind = (place: Pick<typeof at, 'key' | 'userId'>): string =>
    key === undefined
      ? `AND d.user_id > ${place.userId}::text`
      : `AND (${key}, d.user_id) > (${place.key}::text::${type}, ${place.userId}::text)`;
  return `SELECT ${key ?? `''::text`} AS key, d.user_id FROM ${from}
           WHERE d.tenant_id = $1 AND ${rows(value)} ${after === undefined ? '' : isBehind(after)}
           ORDER BY ${orderOf(by, key)}`;
}

/** SQL: with a constant key the planner would sort what is in order. */
function orderOf(by: OrderName, key = ''): string {
  const { key: hasKey }: Order = orders[by];
  return hasKey === undefined ? 'd.user_id' : `${key}, d.user_id`;
}

/** The type of the value of an order. */
const typeOf = (by: OrderName): string => (by === 'everybody' ? 'boolean' : askedTypes[by]);

/** SQL: a key as the token of a page has it, whatever the settings of the connection are. */
function toldKey(by: OrderName): string {
  const { type }: Order = orders[by];
  return type === 'timestamptz'
    ? `to_char(d.key AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
    : 'd.key::text';
}

const toldTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** Neither words nor identifiers have line ends. */
const textOf = ({ by, value, key, userId }: Place): string =>
  [by, by === 'text' ? value : '', key, userId].join('\n');

/** Throws InvalidArgument for what is no place of such a search: a token of a page may come from anywhere. */
function placeIn(text: string, filter: PeopleFilter): Place {
  const [by, word, key, userId] = text.split('\n');
  if (by !== undefined && Object.hasOwn(orders, by) && key !== undefined && userId !== undefined) {
    const order = by as OrderName;
    const { start, type }: Order = orders[order];
    const value = order === 'everybody' || (order === 'text' ? word : filter[order]);
    const isTime = key === start || (toldTime.test(key) && !Number.isNaN(Date.parse(key)));
    if (value !== undefined && (type !== 'timestamptz' || isTime)) return { by: order, value, key, userId };
  }
  throw invalidFields([{ field: 'pageToken', description: 'is not a token of a page' }]);
}
