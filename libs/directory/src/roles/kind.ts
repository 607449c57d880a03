import { RolesService } from '@tessera/proto-gen/admin-roles';
import { listedKind } from '../kind-of-records.ts';
import { deleteRoles, putRoles } from './commands.postgres.ts';
import { role, roleFields } from './fields.ts';
import { roleTable } from './table.postgres.ts';

export const roleKind = listedKind(
  { list: 'roles', key: 'name', name: 'name', lock: 'alone', isStoredElsewhere: false },
  {
    service: RolesService,
    table: roleTable,
    entry: role,
    fields: roleFields,
    written: ({ name }) => name,
    put: putRoles,
    remove: (roles) => deleteRoles(roles.map(({ name }) => name)),
    endings: {
      owner: 'nothing',
      deleted: 'nothing',
    },
  },
);
