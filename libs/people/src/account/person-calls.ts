import type { KeyObject } from 'node:crypto';
import { personEvents } from '@tessera/audit';
import type { PersonService } from '@tessera/proto-gen/person';
import { timestampFromMs, type Handlers } from '@tessera/rpc';
import type { Random } from '@tessera/kit';
import { notFound } from '@tessera/directory/ground';
import { apiOwner } from '@tessera/directory/records';
import { isSubject } from '../identity/identities.postgres.ts';
import { linkProvider, unlinkProvider } from '../identity/linked-providers.postgres.ts';
import { ownAccountCalls, type OwnAccountCallsDeps } from './own-account-calls.ts';
import { userHandles } from '../passkey/user-handles.ts';
import { credentialsOf, renamePasskey } from './own-credentials.postgres.ts';
import { removeFactor } from './remove-factor.postgres.ts';

export interface PersonCallsDeps extends OwnAccountCallsDeps {
  readonly random: Random;
  /** Of the directory. */
  readonly pepper: KeyObject;
}

/** In characters. */
const longestName = 64;

const mostEvents = 100;

const shown = {
  schema: 'directory',
  events: [
    'auth.credential.changed',
    'auth.factor.added',
    'auth.factor.removed',
    'auth.recovery_codes.replaced',
    'auth.recovery_code.used',
    'auth.provider.linked',
    'auth.provider.unlinked',
  ],
} as const;

/** What people see and change of themselves. */
export function personCalls(deps: PersonCallsDeps): Handlers<typeof PersonService> {
  const { database, onChange, pepper, ...runtime } = deps;
  const userHandle = userHandles(pepper);
  return {
    ...ownAccountCalls(deps),

    async getCredentials({ tenantId, userId }) {
      const found = await credentialsOf(database, { tenantId, userId });
      if (found === undefined) throw notFound('The user');
      const { passkeys, hasTotp, recoveryCodes, providers, name, email, emailVerified, owner } = found;
      return {
        hasTotp,
        recoveryCodes,
        name,
        email,
        emailVerified,
        declared: owner !== apiOwner,
        userHandle: userHandle({ tenantId, userId }),
        passkeys: passkeys.map(({ createdAt, lastUsedAt, ...passkey }) => ({
          ...passkey,
          createTime: timestampFromMs(createdAt),
          ...(lastUsedAt !== null && { lastUseTime: timestampFromMs(lastUsedAt) }),
        })),
        providers: providers.map(({ linkedAt, ...provider }) => ({
          ...provider,
          ...(linkedAt !== null && { linkTime: timestampFromMs(linkedAt) }),
        })),
      };
    },

    async listOwnEvents({ tenantId, userId, limit }) {
      const whose = { tenantId, userId, limit: Math.max(0, Math.min(limit, mostEvents)) };
      const found = await personEvents(database, shown, whose);
      return {
        events: found.map(({ time, event, details, ipAddress = '' }) => ({
          time: timestampFromMs(Date.parse(time)),
          event,
          factor: details?.['factor'] ?? '',
          ipAddress,
        })),
      };
    },

    async renameOwnPasskey({ tenantId, userId, authTime, credentialId, name, ipAddress }, { requestId }) {
      if (name === '' || name.length > longestName) return { found: false };
      const person = { tenantId, userId, authTime };
      const renamed = { credentialId, name, ipAddress, requestId };
      return { found: await renamePasskey(database, runtime, person, renamed) };
    },

    async removeOwnFactor({ tenantId, userId, authTime, credentialId, ipAddress }, { requestId }) {
      const person = { tenantId, userId, authTime };
      const removed = await removeFactor(database, runtime, person, { credentialId, ipAddress, requestId });
      if (typeof removed === 'string') return { refusal: removed };
      onChange();
      return { signedInAtMs: BigInt(removed.validFrom) * 1000n };
    },

    async linkOwnProvider({ tenantId, userId, authTime, ipAddress, ...proved }, { requestId }) {
      const { provider, issuer, subject } = proved;
      if (!isSubject(subject)) return { refusal: 'provider' };
      const identity = { tenantId, provider, issuer, subject };
      const linked = { identity, ipAddress, requestId };
      const refusal = await linkProvider(database, runtime, { tenantId, userId, authTime }, linked);
      if (refusal === undefined) onChange();
      return { refusal: refusal ?? '' };
    },

    async unlinkOwnProvider({ tenantId, userId, authTime, provider, ipAddress }, { requestId }) {
      const person = { tenantId, userId, authTime };
      const removed = await unlinkProvider(database, runtime, person, { provider, ipAddress, requestId });
      if (typeof removed === 'string') return { refusal: removed };
      onChange();
      return { signedInAtMs: BigInt(removed.validFrom) * 1000n };
    },
  };
}
