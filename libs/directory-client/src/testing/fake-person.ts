import { Status } from '@tessera/proto-gen/directory';
import { PersonService } from '@tessera/proto-gen/person';
import { Code, ConnectError, timestampFromMs, type Client, type Handlers } from '@tessera/rpc';
import { fakeClient } from '@tessera/rpc/testing';
import type { FakeProviders } from './fake-providers.ts';

/** A person in a directory in memory. */
interface Person {
  hasPasskey?: boolean;
  passkeyName?: string;
  name?: string;
  email?: string;
  status?: Status;
  totpCode?: string;
  password: string;
  validFrom: bigint;
}

/** A sign-in that a person is told of. */
export interface AnnouncedSignIn {
  readonly userId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  readonly first: boolean;
}

/** A change by somebody who has signed in at that time, in seconds since the Unix epoch. */
export interface OwnChange {
  readonly method: string;
  readonly authTime: bigint;
}

interface People {
  readonly ownChanges: OwnChange[];
  readonly announcedSignIns: AnnouncedSignIn[];
  /** Of whom a sign-in was noted. */
  readonly notedSignIns: string[];
  /** IDs of those who are told of wrong codes. */
  readonly announcedWrongCodes: string[];
  readonly tenants: ReadonlyMap<string, { readonly accountClosing?: boolean }>;
  /** By tenant and user id, with a space between. */
  readonly users: ReadonlyMap<string, Person>;
  readonly providers: FakeProviders;
  changeUser(userId: string, edit: Partial<Person> | ((person: Person) => void)): Promise<void>;
}

/**
 * What people see and change of how they sign in, in a directory in memory. A passkey has the identifier of its person.
 */
export function fakePerson(directory: People): Client<typeof PersonService> {
  const found = (tenantId: string, userId: string) => {
    const user = directory.users.get(`${tenantId} ${userId}`);
    if (user === undefined) throw new ConnectError('not found', Code.NotFound);
    return user;
  };
  const answers: Partial<Handlers<typeof PersonService>> = {
    getCredentials({ tenantId, userId }) {
      const { name = '', email = '', ...user } = found(tenantId, userId);
      const passkeys =
        user.hasPasskey === true ? [{ credentialId: userId, name: user.passkeyName ?? '' }] : [];
      const linked = new Set(directory.providers.linkedTo(tenantId, userId));
      const providers = directory.providers.list(tenantId).map(({ name: provider, displayName }) => ({
        name: provider,
        displayName,
        ...(linked.has(provider) && { linkTime: timestampFromMs(Date.now()) }),
      }));
      return { name, email, passkeys, hasTotp: user.totpCode !== undefined, providers };
    },

    async changeOwnName({ tenantId, userId, name }) {
      found(tenantId, userId);
      if (name === '') return { refusal: 'text' };
      await directory.changeUser(userId, { name });
      return {};
    },

    async closeOwnAccount({ tenantId, userId }) {
      found(tenantId, userId);
      const closing = directory.tenants.get(tenantId)?.accountClosing === true;
      if (!closing) return { refusal: 'not_allowed' };
      await directory.changeUser(userId, { status: Status.DISABLED });
      return {};
    },

    announceSignIn({ tenantId, userId, ipAddress, userAgent, first }) {
      found(tenantId, userId);
      directory.announcedSignIns.push({ userId, ipAddress, userAgent, first });
      return {};
    },

    noteSignIns({ signIns }) {
      directory.notedSignIns.push(...signIns.map(({ userId }) => userId));
      return {};
    },

    announceWrongCodes({ tenantId, userId }) {
      found(tenantId, userId);
      directory.announcedWrongCodes.push(userId);
      return {};
    },

    listOwnEvents: () => ({ events: [] }),

    async renameOwnPasskey({ tenantId, userId, credentialId, name }) {
      if (found(tenantId, userId).hasPasskey !== true || credentialId !== userId) return { found: false };
      await directory.changeUser(userId, { passkeyName: name });
      return { found: true };
    },

    async removeOwnFactor({ tenantId, userId, credentialId }) {
      const { hasPasskey, totpCode } = found(tenantId, userId);
      const hasIt =
        credentialId === '' ? totpCode !== undefined : hasPasskey === true && credentialId === userId;
      if (!hasIt) return { refusal: 'unknown' };
      const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
      await directory.changeUser(userId, (person) => {
        person.validFrom = validFrom;
        if (credentialId === '') delete person.totpCode;
        else person.hasPasskey = false;
      });
      return { signedInAtMs: validFrom * 1000n };
    },

    linkOwnProvider: ({ userId, ...identity }) => ({ refusal: directory.providers.link(userId, identity) }),

    async unlinkOwnProvider({ tenantId, userId, provider }) {
      const { password, hasPasskey } = found(tenantId, userId);
      const linked = directory.providers.linkedTo(tenantId, userId);
      if (!linked.includes(provider)) return { refusal: 'unknown' };
      if (password === '' && hasPasskey !== true && linked.length === 1) return { refusal: 'last' };
      directory.providers.unlink(tenantId, userId, provider);
      const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
      await directory.changeUser(userId, { validFrom });
      return { signedInAtMs: validFrom * 1000n };
    },
  };
  return fakeClient(PersonService, answers, {
    as: 'authorize',
    received: (method, request) => noteOwnChange(directory, method, request),
  });
}

/** Only requests of own changes have a time of sign-in. */
export function noteOwnChange(
  { ownChanges }: Pick<People, 'ownChanges'>,
  method: string,
  request: unknown,
): void {
  const { authTime } = request as Partial<OwnChange>;
  if (authTime !== undefined) ownChanges.push({ method, authTime });
}
