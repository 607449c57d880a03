import type { FastifyReply } from 'fastify';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { sendDone, totalEndsOf } from '../confirmed.ts';
import { param, pathOf, type Visit } from '../console-visit.ts';
import { confirmedBefore } from './confirmed-form.ts';
import type { Sent } from './form-page.ts';

/** The path of the person whom a page is about. */
export const pathOfPerson = (visit: Visit): string =>
  pathOf(param(visit, 'tenant'), 'people', param(visit, 'person'));

/**
 * Changes the person whom a form is about, in the version that the form has shown, and says so. Where that would end
 * something it is asked about first.
 */
export async function changePerson(
  visit: Visit,
  sent: Sent,
  {
    changed,
    paths,
    question,
    done,
  }: {
    readonly changed: Partial<Omit<User, '$typeName'>>;
    /** What is changed (`update_mask`). */
    readonly paths: readonly string[];
    readonly question: string;
    readonly done: string;
  },
): Promise<FastifyReply> {
  const user = { ...changed, userId: param(visit, 'person'), etag: sent.text('etag') };
  const request = { tenantId: param(visit, 'tenant'), user, updateMask: { paths: [...paths] } };
  const users = visit.api(UsersService);
  const asked = await confirmedBefore(visit, sent, {
    ends: async () => {
      const { impact } = await users.update({ ...request, validateOnly: true, impact: true }, visit.call());
      return totalEndsOf(impact);
    },
    title: question,
    message: 'This change ends something that works now.',
    label: 'Change it',
    back: pathOfPerson(visit),
  });
  if (asked !== undefined) return asked;
  await users.update(request, visit.call());
  return sendDone(visit, {
    title: done,
    message:
      'Applications see the change when they next refresh their tokens. Access tokens that they have stay valid until they expire.',
  });
}
