import { createHmac, type KeyObject } from 'node:crypto';
import { userIdPrefix } from '@tessera/oauth';
import { limitRepeats, type Logger } from '@tessera/telemetry';
import { type Passwords, signInSource } from '@tessera/directory/ground';
import {
  longestIdentifier,
  normalizeIdentifier,
  type AdminStore,
  type DirectoryStore,
  type StandInPosition,
} from '@tessera/directory/records';
import { maySignIn, type SignedIn } from '../change/may-sign-in.ts';

export interface SignInDeps {
  readonly store: Pick<DirectoryStore, 'findForPassword' | 'confirmSignIn'>;
  readonly admin: Pick<AdminStore, 'replacePasswordHash'>;
  readonly passwords: Passwords;
  /** Pepper of the directory, so that the stand-in of an unknown person is unpredictable. */
  readonly pepper: KeyObject;
  readonly log: Logger;
}

export interface SignInAttempt {
  readonly tenantId: string;
  readonly identifier: string;
  readonly password: string;
  /** Of the person; sign-ins of one address wait behind those of others. */
  readonly ipAddress: string;
}

export interface PasswordSignIn {
  /** Undefined, after the same work, for unknown people, wrong passwords, and inactive people or tenants. */
  signIn(attempt: SignInAttempt, signal: AbortSignal): Promise<SignedIn | undefined>;
  /** Resolves when all hashes in progress are renewed. */
  close(): Promise<void>;
}

/** A hash may be replaced while it is compared, by a new password or by a better hash of the same one. */
const attempts = 2;

const needsReset = 'a password hash costs more than is accepted now and is not compared; reset the password';

/** Hashes waiting to be renewed, each with its password; beyond that a later sign-in renews it. */
const mostRenewing = 32;

/**
 * Signs people in by password. Hashes with other parameters than ours are renewed in the background after a successful
 * sign-in.
 */
export function createPasswordSignIn({ store, admin, passwords, pepper, log }: SignInDeps): PasswordSignIn {
  const renewing = new Map<string, Promise<void>>();
  const tooCostly = limitRepeats(log);

  function renewLater(user: SignedInUser, password: string, from: string): void {
    const key = `${user.tenantId}\0${user.userId}`;
    if (renewing.has(key) || renewing.size >= mostRenewing) return;
    const work = renew(user, password, from).finally(() => renewing.delete(key));
    renewing.set(key, work);
  }

  async function renew(user: SignedInUser, password: string, from: string): Promise<void> {
    try {
      const to = await passwords.renewed(password, user.tenantId);
      await admin.replacePasswordHash({ ...user, from, to });
    } catch (error) {
      log.warn({ err: error }, 'could not renew a password hash; retrying at the next sign-in');
    }
  }

  /** Where in the order of user IDs to look for a stand-in: always the same for one identifier. */
  function standInOf(tenantId: string, identifier: string): StandInPosition {
    const digest = createHmac('sha256', pepper).update(`stand-in\0${tenantId}\0${identifier}`).digest();
    return {
      made: `${userIdPrefix}${digest.toString('base64url').slice(0, 22)}`,
      given: digest.toString('hex').slice(0, 32),
      prefersGiven: (digest.at(-1) ?? 0) % 2 === 0,
    };
  }

  return {
    async signIn({ tenantId, identifier: typed, password, ipAddress }, signal) {
      const identifier = typed.length > longestIdentifier ? '' : normalizeIdentifier(typed);
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const position = standInOf(tenantId, identifier);
        const { found, standIn } = await store.findForPassword(tenantId, identifier, position);
        const passwordHash = found?.user.passwordHash;
        const source = signInSource(tenantId, found?.user.userId ?? `\0${identifier}`, ipAddress);
        if (found !== undefined && passwordHash !== undefined && !passwords.isUsable(passwordHash))
          tooCostly.warn(tenantId, { tenantId, userId: found.user.userId }, needsReset);
        const matches = await passwords.verify(password, passwordHash, { source, standIn, signal });
        if (!matches || found === undefined || passwordHash === undefined || !maySignIn(found))
          return undefined;
        const { userId } = found.user;
        const signedInAt = await store.confirmSignIn(tenantId, userId, passwordHash);
        if (signedInAt === undefined) continue;
        if (!passwords.isCurrent(passwordHash)) renewLater({ tenantId, userId }, password, passwordHash);
        return { found, signedInAt };
      }
      return undefined;
    },

    async close() {
      await Promise.all(renewing.values());
    },
  };
}

interface SignedInUser {
  readonly tenantId: string;
  readonly userId: string;
}
