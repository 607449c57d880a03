import type { FastifyReply } from 'fastify';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { withParameters } from '@tessera/pages';
import { Code, ConnectError } from '@tessera/rpc';
import { showDone } from '../../confirmed.ts';
import { fieldsAgain } from '../../forms/confirmed-form.ts';
import { formPage, type Sent } from '../../forms/form-page.ts';
import { here, param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';
import { personFrom, personInputs } from './person-inputs.ts';

const peoplePath = (visit: Visit) => pathOf(param(visit, 'tenant'), 'people');

/** Says of the form, which comes again, that it is about somebody else than a deleted person. */
const newPersonField = 'newPerson';

/** Adds a person, who can be invited then. */
export const newPersonPage: ConsolePage = formPage<undefined>({
  read: async (visit) => {
    // Nobody fills in a form for nothing.
    await visit.api(UsersService).list({ tenantId: param(visit, 'tenant'), pageSize: 1 }, visit.call());
    return undefined;
  },
  label: 'Add the person',
  inputs: () => {
    const emailHint = 'They can sign in with it, and we send the invitation to it.';
    const { username, name, email, phoneNumber } = personInputs({}, { emailHint });
    return [username, name, email, phoneNumber];
  },
  back: peoplePath,
  send: async (visit, sent) => {
    const user = personFrom(sent);
    const newPerson = sent.form.get(newPersonField) === 'yes';
    const request = { tenantId: param(visit, 'tenant'), user, newPerson };
    const made = await visit
      .api(UsersService)
      .create(request, visit.call())
      .catch(async (error: unknown) => {
        const mayBeNamesake = error instanceof ConnectError && error.code === Code.FailedPrecondition;
        if (newPerson || !mayBeNamesake || !(await hasNamesake(visit, user.username))) throw error;
        return undefined;
      });
    return made === undefined ? sendWhich(visit, sent, user.username) : sendAdded(visit, made);
  },
});

function sendAdded(visit: Visit, { userId }: User): FastifyReply {
  const path = `${peoplePath(visit)}/${encodeURIComponent(userId)}`;
  return showDone(visit, {
    title: 'The person is added',
    message: 'Invite them next, so that they can choose a password.',
    next: `${path}/link`,
    label: 'Invite',
    also: { href: path, label: 'Open this person' },
  });
}

/** Whether somebody with this user name was deleted and can be restored. */
async function hasNamesake(visit: Visit, username: string): Promise<boolean> {
  const request = { tenantId: param(visit, 'tenant'), search: username };
  const { users } = await visit.api(UsersService).listDeleted(request, visit.call());
  return users.some((user) => user.username.toLowerCase() === username.toLowerCase());
}

function sendWhich(visit: Visit, sent: Sent, username: string): FastifyReply {
  return visit.send({
    template: 'namesake',
    title: 'Is this another person?',
    data: {
      username,
      restore: withParameters(pathOf(param(visit, 'tenant'), 'deleted-people'), { q: username }),
      path: here(visit),
      back: peoplePath(visit),
      fields: fieldsAgain(visit, sent, newPersonField),
    },
  });
}
