import type { FastifyReply } from 'fastify';
import type { User } from '@tessera/proto-gen/admin-users';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { Impact } from '@tessera/proto-gen/impact';
import { conflictOf, problemOf } from './shown-refusals.ts';
import { nameOf } from './shown-person.ts';
import { fieldsOf, here, param, pathOf, sentForm, type ConsolePage, type Visit } from './console-visit.ts';

export type Sentence = readonly [text: string, values?: Readonly<Record<string, string | number>>];

/** What a call needs to name a person in the version that was shown. */
export interface Whose {
  readonly tenantId: string;
  readonly userId: string;
  readonly etag: string;
}

/** A page that says what would end, and does it once somebody has confirmed. */
interface Confirmed {
  readonly message: string;
  readonly label: string;
  /** It ends and weakens nothing. */
  readonly isHarmless?: boolean;
  /** What would end; asks the API without a change. */
  readonly ends: (visit: Visit, whose: Whose) => Promise<readonly Sentence[]>;
  readonly act: (visit: Visit, whose: Whose) => Promise<Done>;
}

/** What was done, and the one next step. */
export interface Done {
  readonly title: string;
  readonly message: string;
  readonly ends?: readonly Sentence[];
  /** Shown once. */
  readonly secret?: string | undefined;
  /** A page of the person; the person itself if absent. */
  readonly next?: { readonly page: string; readonly label: string };
  /** The person was deleted. */
  readonly isGone?: boolean;
}

/** A page that says what acting on a record would end, and acts once somebody has confirmed. */
interface ConfirmPage<R> {
  readonly read: (visit: Visit) => Promise<R>;
  readonly nameOf: (record: R) => string;
  readonly etagOf: (record: R) => string;
  readonly message: string;
  readonly label: string;
  /** It ends and weakens nothing. */
  readonly isHarmless?: boolean | undefined;
  /** What would end; asks the API without a change. */
  readonly ends?: (visit: Visit, record: R) => Promise<Ends>;
  /** Whether the name must be typed where much ends. */
  readonly asksName?: boolean;
  /** The path of the page of the record. */
  readonly back: (visit: Visit) => string;
  readonly act: (visit: Visit, etag: string) => Promise<FastifyReply>;
}

/** What would end, and how many things that are. */
export interface Ends {
  readonly sentences: readonly Sentence[];
  readonly total: number;
}

/** More than so many, and the name of the record must be typed. */
const mostUntyped = 10;

export function confirmPage<R>(page: ConfirmPage<R>): ConsolePage {
  /** What would end; or why it cannot be done. */
  const endsNow = async (visit: Visit, record: R): Promise<Ends | string> =>
    page.ends === undefined
      ? { sentences: [], total: 0 }
      : page.ends(visit, record).catch((error: unknown) => problemOf(error, visit));
  const refuse = (visit: Visit, message: string): FastifyReply => {
    const data = { next: page.back(visit), label: 'Back' };
    return visit.send({ template: 'refused', title: 'This cannot be done now', message, data });
  };
  const show = async (visit: Visit, problem?: string): Promise<FastifyReply> => {
    const read = await page.read(visit).then(
      (record) => ({ record }),
      (error: unknown) => ({ refusal: conflictOf(error, visit) }),
    );
    if ('refusal' in read) return refuse(visit, read.refusal);
    const { record } = read;
    const found = await endsNow(visit, record);
    if (typeof found === 'string') return refuse(visit, found);
    const { sentences, total } = found;
    return visit.send({
      template: 'kit/confirm',
      message: page.message,
      data: {
        values: { name: page.nameOf(record) },
        ends: sentences,
        ...(page.asksName === true && total > mostUntyped && { typed: page.nameOf(record) }),
        label: page.label,
        isHarmless: page.isHarmless,
        problem,
        path: here(visit),
        back: page.back(visit),
        fields: fieldsOf(visit, [{ name: 'etag', value: page.etagOf(record) }]),
      },
    });
  };
  const lacksName = async (visit: Visit, typed: string): Promise<boolean> => {
    const record = await page.read(visit);
    const found = await endsNow(visit, record);
    return typeof found !== 'string' && found.total > mostUntyped && typed.trim() !== page.nameOf(record);
  };
  return {
    load: (visit) => show(visit),
    act: async (visit) => {
      const form = sentForm(visit);
      if (page.asksName === true && (await lacksName(visit, form.get('typed') ?? ''))) {
        void visit.reply.code(400);
        return show(visit, 'This is not the name. Type it exactly as shown above the field.');
      }
      try {
        return await page.act(visit, form.get('etag') ?? '');
      } catch (error) {
        return show(visit, problemOf(error, visit));
      }
    },
  };
}

/** A page that acts on a person. */
export function confirmedOfPerson({ message, label, isHarmless, ends, act }: Confirmed): ConsolePage {
  const pathOfPerson = (visit: Visit) => pathOf(param(visit, 'tenant'), 'people', param(visit, 'person'));
  return confirmPage({
    read: personOf,
    nameOf,
    etagOf: ({ etag }) => etag,
    message,
    label,
    isHarmless,
    ends: async (visit, { etag }) => ({ sentences: await ends(visit, whoseOf(visit, etag)), total: 0 }),
    back: pathOfPerson,
    act: async (visit, etag) => sendDone(visit, await act(visit, whoseOf(visit, etag))),
  });
}

/** The answer to a form that has done something to a person. */
export function sendDone(
  visit: Visit,
  { title, message, ends = [], secret, next, isGone }: Done,
): FastifyReply {
  const people = pathOf(param(visit, 'tenant'), 'people');
  const path = `${people}/${encodeURIComponent(param(visit, 'person'))}`;
  const back = isGone
    ? { next: people, label: 'Back to the people' }
    : { next: path, label: 'Back to this person' };
  return showDone(visit, {
    title,
    message,
    ends,
    secret,
    ...(next === undefined ? back : { next: `${path}/${next.page}`, label: next.label }),
  });
}

/** The answer to a form that has done something, with the path of the next step, and of another one after it. */
export function showDone(
  visit: Visit,
  {
    title,
    message,
    ends = [],
    ...data
  }: Omit<Done, 'next' | 'isGone'> & {
    readonly next: string;
    readonly label: string;
    readonly also?: { readonly href: string; readonly label: string };
  },
): FastifyReply {
  return visit.send({ template: 'done', title, message, data: { ends, ...data } });
}

export async function personOf(visit: Visit): Promise<User> {
  const { tenantId, userId } = whoseOf(visit, '');
  return visit.api(UsersService).get({ tenantId, userId }, visit.call());
}

export function whoseOf(visit: Visit, etag: string): Whose {
  return { tenantId: param(visit, 'tenant'), userId: param(visit, 'person'), etag };
}

const uncountedOfPerson = 'What ends could not be counted. Everything of this person ends all the same.';

/** What ends of one person, as sentences; of what nothing ends there is none. */
export function endsOf(impact: Impact | undefined): readonly Sentence[] {
  return totalEndsOf(impact).sentences;
}

/** The same, with its number. */
export function totalEndsOf(impact: Impact | undefined): Ends {
  return counted(impact, uncountedOfPerson);
}

/** What ends, with its number, and the people by name. */
export function countedEnds(impact: Impact | undefined, uncounted: string): Ends {
  const { sentences, total } = counted(impact, uncounted);
  return {
    sentences: impact === undefined || total === 0 ? sentences : [...sentences, ...namesIn(impact)],
    total,
  };
}

function counted(impact: Impact | undefined, uncounted: string): Ends {
  // Something may end, so that somebody is asked.
  if (impact === undefined) return { sentences: [[uncounted]], total: 1 };
  const kinds: readonly (readonly [string, number | undefined])[] = [
    ['{count, plural, one {# session ends} other {# sessions end}}', impact.sessions?.total],
    [
      '{count, plural, one {# application loses its access} other {# applications lose their access}}',
      impact.refreshFamilies?.total,
    ],
    [
      '{count, plural, one {# request for approval ends} other {# requests for approval end}}',
      impact.approvals?.total,
    ],
    ['{count, plural, one {# consent ends} other {# consents end}}', impact.consents?.total],
  ];
  const total = kinds.reduce((sum, [, count = 0]) => sum + count, 0);
  if (total === 0) return { sentences: [['Nothing is open that would end.']], total };
  return {
    sentences: kinds.flatMap(([text, count = 0]): Sentence[] => (count === 0 ? [] : [[text, { count }]])),
    total,
  };
}

const mostNames = 10;

/** The people among those whom it concerns. */
function namesIn({ usernames, sessions, refreshFamilies, approvals, consents }: Impact): readonly Sentence[] {
  const items = [sessions, refreshFamilies, approvals, consents].flatMap((ended) => ended?.first ?? []);
  const names = [...new Set([...usernames, ...items.map(({ username }) => username)])].filter(Boolean);
  return names.length === 0
    ? []
    : [['People whom it concerns, among others: {names}', { names: names.slice(0, mostNames).join(', ') }]];
}
