import { adminRoles } from '@tessera/oauth';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { countedEnds, personOf, sendDone } from '../../confirmed.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { otherOwner } from '../../forms/owned.ts';
import { nameOf } from '../../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

/** A form has 64 fields at most. */
const mostChoices = 40;

interface WithRoles {
  readonly user: User;
  /** Those of the organization. */
  readonly names: readonly string[];
}

const pathOfPerson = (visit: Visit) => pathOf(param(visit, 'tenant'), 'people', param(visit, 'person'));

/** What a person may do: the roles of the organization, and those that open this console. */
export const rolesOfPersonPage: ConsolePage = formPage<WithRoles>({
  read: async (visit) => {
    const [user, { roles }] = await Promise.all([
      personOf(visit),
      visit
        .api(RolesService)
        .list({ tenantId: param(visit, 'tenant'), pageSize: mostChoices + 1 }, visit.call()),
    ]);
    return { user, names: roles.map(({ name }) => name) };
  },
  subject: ({ user }) => nameOf(user),
  ownerOf: ({ user }) => otherOwner(user),
  label: 'Save',
  inputs: (about) => [rolesInput(about)],
  hidden: ({ user }) => [{ name: 'etag', value: user.etag }],
  back: pathOfPerson,
  send: async (visit, sent, about) => {
    const { userId } = about.user;
    const user = { userId, etag: sent.text('etag'), roles: chosen(sent, about) };
    const request = { tenantId: param(visit, 'tenant'), user, updateMask: { paths: ['roles'] } };
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => {
        const found = await visit
          .api(UsersService)
          .update({ ...request, validateOnly: true, impact: true }, visit.call());
        return countedEnds(found.impact, 'What ends could not be counted.');
      },
      title: 'Change the roles of this person?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: pathOfPerson(visit),
    });
    if (asked !== undefined) return asked;
    await visit.api(UsersService).update(request, visit.call());
    return sendDone(visit, { title: 'The roles are changed', message: 'The change applies at once.' });
  },
});

function rolesInput({ user, names }: WithRoles): Input {
  const input = {
    name: 'roles',
    label: 'Roles',
    hint: "Applications read people's roles in their tokens. Those that begin with tessera. open this console.",
  };
  const options = [...new Set([...names, ...adminRoles.keys(), ...user.roles])];
  if (options.length > mostChoices) return { ...input, kind: 'lines', value: user.roles.join('\n') };
  return {
    ...input,
    kind: 'several',
    options: options.map((name) => ({ value: name, label: name, isOn: user.roles.includes(name) })),
  };
}

function chosen(sent: Sent, about: WithRoles): string[] {
  return rolesInput(about).kind === 'lines' ? sent.lines('roles') : sent.several('roles');
}
