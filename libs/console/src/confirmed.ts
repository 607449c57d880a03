import type { FastifyReply } from 'fastify';
import type { User } from '@tessera/proto-gen/admin-users';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { Impact } from '@tessera/proto-gen/impact';
import { problemOf } from './shown-refusals.ts';
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
  readonly secret?: string;
  /** A page of the person; the person itself if absent. */
  readonly next?: { readonly page: string; readonly label: string };
  /** There is no such person any more. */
  readonly isGone?: boolean;
}

/** A page that acts on a person. */
export function confirmedOfPerson({ message, label, ends, act }: Confirmed): ConsolePage {
  const show = async (visit: Visit, problem?: string): Promise<FastifyReply> => {
    const user = await personOf(visit);
    const whose = whoseOf(visit, user.etag);
    return visit.send({
      template: 'kit/confirm',
      message,
      data: {
        values: { name: nameOf(user) },
        ends: problem === undefined ? await ends(visit, whose) : [],
        label,
        problem,
        path: here(visit),
        back: pathOf(whose.tenantId, 'people', whose.userId),
        fields: fieldsOf(visit, [{ name: 'etag', value: user.etag }]),
      },
    });
  };
  return {
    load: (visit) => show(visit),
    act: async (visit) => {
      const whose = whoseOf(visit, sentForm(visit).get('etag') ?? '');
      const done = await act(visit, whose).catch((error: unknown) => problemOf(error, visit));
      return typeof done === 'string' ? show(visit, done) : sendDone(visit, done);
    },
  };
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
  return visit.send({
    template: 'done',
    title,
    message,
    data: {
      ends,
      secret,
      ...(next === undefined ? back : { next: `${path}/${next.page}`, label: next.label }),
    },
  });
}

export async function personOf(visit: Visit): Promise<User> {
  const { tenantId, userId } = whoseOf(visit, '');
  return visit.api(UsersService).get({ tenantId, userId }, visit.call());
}

export function whoseOf(visit: Visit, etag: string): Whose {
  return { tenantId: param(visit, 'tenant'), userId: param(visit, 'person'), etag };
}

/** What ends, as sentences; of what nothing ends there is none. */
export function endsOf(impact: Impact | undefined): readonly Sentence[] {
  if (impact === undefined)
    return [['What ends could not be counted. Everything of this person ends all the same.']];
  const counted: readonly (readonly [string, number | undefined])[] = [
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
  const ends = counted.flatMap(([text, count = 0]): Sentence[] => (count === 0 ? [] : [[text, { count }]]));
  return ends.length === 0 ? [['Nothing is open that would end.']] : ends;
}
