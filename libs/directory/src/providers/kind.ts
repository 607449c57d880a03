import { listedKind } from '../kind-of-records.ts';
import { deleteProviders, putProviders } from './commands.postgres.ts';
import { provider, providerFields, providerReference } from './fields.ts';
import { providerTable } from './table.postgres.ts';

export const providerKind = listedKind(
  { list: 'providers', key: 'name', name: 'name', lock: undefined, isStoredElsewhere: false },
  {
    table: providerTable,
    entry: provider,
    most: 50,
    fields: providerFields,
    reference: providerReference,
    put: putProviders,
    remove: (providers) => deleteProviders(providers.map(({ name }) => name)),
    endings: {
      preset: 'nothing',
      issuer: 'all',
      clientId: 'nothing',
      displayName: 'nothing',
      scopes: 'nothing',
      domains: 'renewed',
      linking: 'nothing',
      createsAccounts: 'nothing',
      roleMappings: 'taken',
      attributeMappings: 'taken',
      trustsFactors: 'nothing',
      signsOut: 'nothing',
      sealedSecret: 'nothing',
      owner: 'nothing',
      deleted: 'all',
    },
  },
);
