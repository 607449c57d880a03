import { adminRoles } from '@tessera/oauth';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import type { User } from '@tessera/proto-gen/admin-users';
import { personOf } from '../../confirmed.ts';
import { changePerson, pathOfPerson } from '../../forms/change-person.ts';
import { formPage, mostChoices, type Input } from '../../forms/form-page.ts';
import { otherOwner } from '../../forms/owned.ts';
import { nameOf } from '../../shown-person.ts';
import { param, type ConsolePage } from '../../console-visit.ts';

interface WithRoles {
  readonly user: User;
  /** Those of the organization. */
  readonly names: readonly string[];
}

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
  send: async (visit, sent) =>
    changePerson(visit, sent, {
      changed: { roles: sent.chosen('roles') },
      paths: ['roles'],
      question: 'Change the roles of this person?',
      done: 'The roles are changed',
    }),
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
