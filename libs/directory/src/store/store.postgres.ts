import type { Database } from '@tessera/stores';
import { readDeclaredUses } from '../applications/declared-use.ts';
import { findApplication, findSecrets, noteSecretUses } from '../applications/read.postgres.ts';
import { findTenant, tenantIssuers } from '../tenants/read.postgres.ts';
import {
  confirmSignIn,
  findForPassword,
  findUser,
  findUserByIdentifier,
  findUsers,
} from '../users/read.postgres.ts';
import type { DirectoryStore } from './store.ts';

/** The durable records in Postgres or PGlite. Each takes every text that it is handed: `rpc` refuses the others. */
export function createDirectoryStore(database: Database): DirectoryStore {
  return {
    findTenant: (tenantId) => findTenant(database, tenantId),
    tenantIssuers: () => tenantIssuers(database),
    declaredUses: () => readDeclaredUses(database),
    findApplication: (clientId) => findApplication(database, clientId),
    findSecrets: (clientId) => findSecrets(database, clientId),
    findUser: (tenantId, userId) => findUser(database, tenantId, userId),
    findUsers: (tenantId, userIds) => findUsers(database, tenantId, userIds),
    findUserByIdentifier: (tenantId, identifier) => findUserByIdentifier(database, tenantId, identifier),
    confirmSignIn: (tenantId, userId, passwordHash) =>
      confirmSignIn(database, tenantId, userId, passwordHash),
    findForPassword: (tenantId, identifier, position) =>
      findForPassword(database, tenantId, identifier, position),
    noteSecretUses: (uses) => noteSecretUses(database, uses),
  };
}
