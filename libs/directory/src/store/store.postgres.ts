import type { Database } from '@tessera/stores';
import { findApplication, findSecrets, listSecrets, noteSecretUses } from '../applications/read.postgres.ts';
import { findTenant, tenantIssuers } from '../tenants/read.postgres.ts';
import {
  confirmSignIn,
  findUser,
  findUserByIdentifier,
  findUsers,
  somePasswordHash,
} from '../users/read.postgres.ts';
import type { DirectoryStore } from './store.ts';

/** The durable records in Postgres or PGlite. Texts with a NUL byte match nothing: the engines cannot hold them. */
export function createDirectoryStore(database: Database): DirectoryStore {
  return {
    findTenant: async (tenantId) => (isStorable(tenantId) ? findTenant(database, tenantId) : undefined),
    tenantIssuers: () => tenantIssuers(database),
    findApplication: async (clientId) =>
      isStorable(clientId) ? findApplication(database, clientId) : undefined,
    findSecrets: async (clientId) => (isStorable(clientId) ? findSecrets(database, clientId) : undefined),
    listSecrets: async (clientId) => (isStorable(clientId) ? listSecrets(database, clientId) : undefined),
    findUser: async (tenantId, userId) =>
      isStorable(tenantId + userId) ? findUser(database, tenantId, userId) : undefined,
    findUsers: async (tenantId, userIds) =>
      isStorable(tenantId) ? findUsers(database, tenantId, userIds.filter(isStorable)) : [],
    findUserByIdentifier: async (tenantId, identifier) =>
      isStorable(tenantId + identifier) ? findUserByIdentifier(database, tenantId, identifier) : undefined,
    confirmSignIn: (tenantId, userId, passwordHash) =>
      confirmSignIn(database, tenantId, userId, passwordHash),
    somePasswordHash: async (tenantId, position) =>
      isStorable(tenantId) ? somePasswordHash(database, tenantId, position) : undefined,
    noteSecretUses: (uses) => noteSecretUses(database, uses),
  };
}

function isStorable(text: string): boolean {
  return !text.includes('\0');
}
