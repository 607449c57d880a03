import { adminRoles } from '@tessera/oauth';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { personOf, sendDone, totalEndsOf } from '../../confirmed.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { formPage, mostChoices, type Input } from '../../forms/form-page.ts';
import { otherOwner } from '../../forms/owned.ts';
import { nameOf } from '../../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

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
    const user = { userId, etag: sent.text('etag'), roles: sent.chosen('roles') };
    const request = { tenantId: param(visit, 'tenant'), user, updateMask: { paths: ['roles'] } };
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => {
        const found = await visit
          .api(UsersService)
          .update({ ...request, validateOnly: true, impact: true }, visit.call());
        return totalEndsOf(found.impact);
      },
      title: 'Change the roles of this person?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: pathOfPerson(visit),
    });
    if (asked !== undefined) return asked;
    await visit.api(UsersService).update(request, visit.call());
    return sendDone(visit, {
      title: 'The roles are changed',
      message:
        'Applications see the change when they next refresh their tokens. Access tokens that they have stay valid until they expire.',
    });
  },
});

function rolesInput({ user, names }: WithRoles): Input {
  const input = {
    name: 'roles',
    label: 'Roles',
    hint: "Applications read these roles in the person's tokens. A role whose name begins with “tessera.” lets the person administer Tessera.",
  };
  const options = [...new Set([...names, ...adminRoles.keys(), ...user.roles])];
  if (options.length > mostChoices)
    return { ...input, hint: 'The names of roles, one a line.', kind: 'lines', value: user.roles.join('\n') };
  return {
    ...input,
    kind: 'several',
    options: options.map((name) => ({ value: name, label: name, isOn: user.roles.includes(name) })),
  };
}
