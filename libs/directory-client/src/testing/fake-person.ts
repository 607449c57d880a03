import { PersonService } from '@tessera/proto-gen/person';
import { Code, ConnectError, local, route, type Client, type Handlers } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';

/** A person in a directory in memory. */
interface Person {
  hasPasskey?: boolean;
  passkeyName?: string;
  totpCode?: string;
  validFrom: bigint;
}

interface People {
  /** By tenant and user id, with a space between. */
  readonly users: ReadonlyMap<string, Person>;
  changeUser(userId: string, edit: Partial<Person> | ((person: Person) => void)): Promise<void>;
}

/** What people see and change of how they sign in, in a directory in memory. A passkey has the identifier of its person. */
export function fakePerson(directory: People): Client<typeof PersonService> {
  const found = (tenantId: string, userId: string) => {
    const user = directory.users.get(`${tenantId} ${userId}`);
    if (user === undefined) throw new ConnectError('not found', Code.NotFound);
    return user;
  };
  const handlers: Handlers<typeof PersonService> = {
    getCredentials({ tenantId, userId }) {
      const { hasPasskey, passkeyName: name = '', totpCode } = found(tenantId, userId);
      const passkeys = hasPasskey === true ? [{ credentialId: userId, name }] : [];
      return { passkeys, hasTotp: totpCode !== undefined };
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
  };
  const service = {
    name: 'directory',
    routes: [route(PersonService, handlers)],
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  } as const;
  return local(PersonService, service, 'authorize', silentLog());
}
