import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { listedKind } from '../kind-of-records.ts';
import { deleteResources, putResources } from './commands.postgres.ts';
import { resource, resourceFields, resourceReference } from './fields.ts';
import { resourceTable } from './table.postgres.ts';

export const resourceKind = listedKind(
  { list: 'resources', key: 'audience', name: 'audience', lock: 'alone', isStoredElsewhere: false },
  {
    service: ResourcesService,
    table: resourceTable,
    entry: resource,
    fields: resourceFields,
    reference: resourceReference,
    put: putResources,
    remove: (resources) => deleteResources(resources.map(({ audience }) => audience)),
    endings: {
      name: 'nothing',
      shared: 'nothing',
      scopes: 'renewed',
      assignableBy: 'nothing',
      tokenType: 'renewed',
      scopeFormat: 'renewed',
      signingAlgorithm: 'renewed',
      roles: 'renewed',
      owner: 'nothing',
      deleted: 'renewed',
    },
  },
);
