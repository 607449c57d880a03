import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { listedKind } from '../kind-of-records.ts';
import { deleteApplications, putApplications } from './commands.postgres.ts';
import { application, applicationFields, applicationReference } from './fields.ts';
import { applicationTable } from './table.postgres.ts';

// They refer only to kinds that take the lock alone.
export const applicationKind = listedKind(
  { list: 'applications', key: 'clientId', name: 'clientId', lock: 'together', isStoredElsewhere: true },
  {
    service: ApplicationsService,
    table: applicationTable,
    entry: application,
    fields: applicationFields,
    reference: applicationReference,
    put: putApplications,
    remove: deleteApplications,
    endings: {
      name: 'nothing',
      description: 'nothing',
      descriptions: 'nothing',
      publisher: 'nothing',
      homepage: 'nothing',
      type: 'nothing',
      status: 'all',
      grantTypes: 'refused',
      redirectUris: 'nothing',
      loopbackPorts: 'nothing',
      logoutRedirectUris: 'nothing',
      redirectUriPrefixes: 'nothing',
      logoutRedirectUriPrefixes: 'nothing',
      scopes: 'refused',
      defaultScopes: 'nothing',
      audiences: 'renewed',
      introspectAudiences: 'nothing',
      lifetimes: 'renewed',
      ciba: 'nothing',
      authenticatedStart: 'nothing',
      allowedRoles: 'refused',
      roles: 'renewed',
      pkce: 'nothing',
      backchannelLogoutUri: 'nothing',
      backchannelLogoutSessionRequired: 'nothing',
      claims: 'renewed',
      idTokenClaims: 'renewed',
      owners: 'nothing',
      thirdParty: 'nothing',
      authenticationPolicy: 'refused',
      publicKeys: 'nothing',
      jwksUri: 'nothing',
      trusts: 'nothing',
      idTokenSigningAlgorithm: 'renewed',
      secrets: 'nothing',
      owner: 'nothing',
      deleted: 'all',
    },
  },
);
