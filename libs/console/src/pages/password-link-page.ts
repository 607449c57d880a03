import type { FastifyReply } from 'fastify';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { personOf, sendDone, whoseOf, type Done } from '../confirmed.ts';
import { problemOf } from '../shown-refusals.ts';
import { nameOf } from '../shown-person.ts';
import { fieldsOf, here, pathOf, sentForm, type ConsolePage, type Visit } from '../console-visit.ts';

/** Makes a one-time link for a new password, which is mailed or shown once. */
export const passwordLinkPage: ConsolePage = {
  load: (visit) => show(visit),
  act: async (visit) => {
    const form = sentForm(visit);
    const whose = whoseOf(visit, form.get('etag') ?? '');
    const mail = form.get('way') !== 'show';
    const done = await makeLink(visit, whose, mail).catch((error: unknown) => problemOf(error, visit));
    return typeof done === 'string' ? show(visit, done) : sendDone(visit, done);
  },
};

async function show(visit: Visit, problem?: string): Promise<FastifyReply> {
  const user = await personOf(visit);
  const { tenantId } = whoseOf(visit, '');
  const { waysIn } = await visit
    .api(UsersService)
    .getCredentials({ tenantId, userId: user.userId }, visit.call());
  return visit.send({
    template: 'password-link',
    ...(!waysIn.includes('password') && { title: 'Invite this person?' }),
    data: {
      name: nameOf(user),
      email: user.email,
      problem,
      path: here(visit),
      back: pathOf(tenantId, 'people', user.userId),
      fields: fieldsOf(visit, [{ name: 'etag', value: user.etag }]),
    },
  });
}

async function makeLink(
  { api, call }: Visit,
  whose: ReturnType<typeof whoseOf>,
  mail: boolean,
): Promise<Done> {
  const { waysIn } = await api(UsersService).getCredentials(
    { tenantId: whose.tenantId, userId: whose.userId },
    call(),
  );
  const purpose = waysIn.includes('password') ? 'reset' : 'invitation';
  const { uri } = await api(UsersService).createPasswordLink({ ...whose, purpose, mail }, call());
  return mail
    ? { title: 'The link is on its way', message: 'It works once. Earlier links no longer work.' }
    : {
        title: 'The link is ready',
        message: 'Hand it to this person alone. It works once, and is not shown again.',
        secret: uri,
      };
}
