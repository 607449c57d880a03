import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { kindOfRecords } from '../kind-of-records.ts';
import { tenantTable } from './table.postgres.ts';

export const tenantKind = kindOfRecords(
  { list: 'tenants', key: 'tenantId', name: 'tenantId', lock: 'alone', isStoredElsewhere: false },
  {
    service: TenantsService,
    table: tenantTable,
    endings: {
      name: 'nothing',
      status: 'all',
      issuer: 'all',
      endpoints: 'nothing',
      authenticationPolicy: 'refused',
      passkeyDomain: 'nothing',
      registration: 'links',
      registrationDomains: 'links',
      accountClosing: 'nothing',
      signInMethods: 'nothing',
      looks: 'nothing',
      owner: 'nothing',
      deleted: 'all',
    },
  },
);
