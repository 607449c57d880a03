import { createHmac, type KeyObject } from 'node:crypto';
import type { Logger } from '@tessera/telemetry';
import type { Passwords } from './passwords.ts';
import { normalizeIdentifier } from '../store/records.ts';
import type { AdminStore, DirectoryStore, FoundUser } from '../store/store.ts';

export interface SignInParts {
  readonly store: Pick<DirectoryStore, 'findUserByIdentifier' | 'confirmSignIn' | 'somePasswordHash'>;
  readonly admin: Pick<AdminStore, 'replacePasswordHash'>;
  readonly passwords: Passwords;
  /** Of the directory; which stranger stands in for an unknown person is not to be foreseen. */
  readonly pepper: KeyObject;
  readonly log: Logger;
}

export interface SignInAttempt {
  readonly tenantId: string;
  readonly identifier: string;
  readonly password: string;
}

export interface SignedIn {
  readonly found: FoundUser;
  /** Milliseconds since the Unix epoch, by the clock of the records. */
  readonly signedInAt: number;
}

export interface PasswordSignIn {
  /** Undefined for unknown people, wrong passwords, and people or tenants that are not active, after the same work. */
  signIn(attempt: SignInAttempt, signal: AbortSignal): Promise<SignedIn | undefined>;
  /** Resolves when no hash is being made anew any more. */
  close(): Promise<void>;
}

/** A password may be replaced while it is compared: by a new one, or by a better hash of the same one. */
const attempts = 2;

/** Hashes that wait to be made anew, each with its password; whoever signs in beyond that has it done another time. */
const mostRenewing = 32;

/** Longer than any identifier that can be registered. */
export const longestIdentifier = 512;

/**
 * Signs people in by their passwords. Hashes with parameters other than ours are made anew once their password was right,
 * off the answer's path.
 */
export function createPasswordSignIn({ store, admin, passwords, pepper, log }: SignInParts): PasswordSignIn {
  const renewing = new Map<string, Promise<void>>();

  function renewLater(user: SignedInUser, password: string, from: string): void {
    const key = `${user.tenantId}\0${user.userId}`;
    if (renewing.has(key) || renewing.size >= mostRenewing) return;
    const work = renew(user, password, from).finally(() => renewing.delete(key));
    renewing.set(key, work);
  }

  async function renew(user: SignedInUser, password: string, from: string): Promise<void> {
    try {
      const to = await passwords.renewed(password);
      await admin.replacePasswordHash({ ...user, from, to });
    } catch (error) {
      log.warn({ error }, 'a password hash was not made anew; trying again at the next sign-in');
    }
  }

  /** Where in the order of user ids a stand-in is looked for: always the same for one identifier. */
  function standInOf(tenantId: string, identifier: string): string {
    const digest = createHmac('sha256', pepper)
      .update(`stand-in\0${tenantId}\0${identifier}`)
      .digest('base64url');
    return `usr_${digest.slice(0, 22)}`;
  }

  return {
    async signIn({ tenantId, identifier: typed, password }, signal) {
      const identifier = typed.length > longestIdentifier ? '' : normalizeIdentifier(typed);
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const [found, standIn] = await Promise.all([
          store.findUserByIdentifier(tenantId, identifier),
          store.somePasswordHash(tenantId, standInOf(tenantId, identifier)),
        ]);
        const passwordHash = found?.user.passwordHash;
        const matches = await passwords.verify(password, passwordHash, { standIn, signal });
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

function maySignIn({ user, tenant }: FoundUser): boolean {
  return user.status === 'active' && tenant.status === 'active';
}
