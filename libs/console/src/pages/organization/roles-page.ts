import { RolesService } from '@tessera/proto-gen/admin-roles';
import { listAddresses, readListRequest, readQuery, withParameters, type List } from '@tessera/pages';
import { actCell } from '../../cells.ts';
import { confirmPage, showDone } from '../../confirmed.ts';
import { formPage } from '../../forms/form-page.ts';
import { otherOwner, ownerCell } from '../../forms/owned.ts';
import { goTo, param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

const rolesPath = (visit: Visit) => pathOf(param(visit, 'tenant'), 'roles');

/** The roles of an organization: one call for a page. Who has one is a list of people. */
export const rolesPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = rolesPath(visit);
    const asked = readListRequest(readQuery(visit.request));
    const { search, pageToken } = asked;
    const { roles, nextPageToken } = await visit
      .api(RolesService)
      .list({ tenantId, search, pageToken }, visit.call());
    const list: List = {
      caption: 'Roles',
      columns: ['Name', 'Owner', 'Who has it', 'Delete'],
      rows: roles.map((role) => [
        { text: role.name },
        ownerCell(role.owner),
        {
          sentence: 'Show people',
          href: withParameters(pathOf(tenantId, 'people'), { role: role.name }),
        },
        otherOwner(role) === undefined
          ? actCell('Delete', pathOf(tenantId, 'roles', role.name, 'delete'))
          : { text: '' },
      ]),
      empty:
        "No role was found. Create one, or search for part of another name. Applications read people's roles in their tokens.",
      search: { path, label: 'Name', value: search },
      ...listAddresses(path, asked, nextPageToken),
    };
    const make = { href: pathOf(tenantId, 'new-role'), label: 'Create a role' };
    return visit.send({ template: 'listed', data: { list, make } });
  },
};

export const newRolePage = formPage<undefined>({
  read: async (visit) => {
    // Nobody fills in a form for nothing.
    await visit.api(RolesService).list({ tenantId: param(visit, 'tenant'), pageSize: 1 }, visit.call());
    return undefined;
  },
  label: 'Create the role',
  inputs: () => [
    {
      name: 'name',
      label: 'Name',
      hint: "Applications read this name in tokens, for example clerk. You can't change it later.",
      kind: 'text',
      isRequired: true,
      longest: 100,
    },
  ],
  back: rolesPath,
  send: async (visit, sent) => {
    const role = { name: sent.text('name') };
    await visit.api(RolesService).create({ tenantId: param(visit, 'tenant'), role }, visit.call());
    return goTo(visit, rolesPath(visit));
  },
});

export const deleteRolePage = confirmPage({
  read: async (visit) => {
    const request = { tenantId: param(visit, 'tenant'), name: param(visit, 'role') };
    return visit.api(RolesService).get(request, visit.call());
  },
  nameOf: ({ name }) => name,
  etagOf: ({ etag }) => etag,
  message: "Remove {name} from people and applications first: a role that is in use can't be deleted.",
  label: 'Delete this role',
  back: rolesPath,
  act: async (visit, etag) => {
    const request = { tenantId: param(visit, 'tenant'), name: param(visit, 'role'), etag };
    await visit.api(RolesService).delete(request, visit.call());
    return showDone(visit, {
      title: 'The role is deleted',
      message: 'New tokens no longer contain it.',
      next: rolesPath(visit),
      label: 'Back to the roles',
    });
  },
});
