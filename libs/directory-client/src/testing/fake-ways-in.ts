import { Status, type DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { userMessage, type Edit, type FakeUser } from './fake-records.ts';

/** The code with which anybody sets up an authenticator app. */
export const enrolmentCode = '123456';

/** What a browser answers with the passkey of a person, or with a new one. */
export const passkeyAnswer = (userId: string, challenge: string): string =>
  JSON.stringify({ id: userId, challenge });

interface People {
  /** Whether it is of the previous version, which has no proposals of recovery codes. */
  readonly isEarlier: boolean;
  /** By tenant and user id, with a space between. */
  readonly users: ReadonlyMap<string, FakeUser>;
  changeUser(userId: string, edit: Edit<FakeUser>): Promise<void>;
}

type Calls = Partial<Handlers<typeof DirectoryService>>;

/** The user of an answer, and when they signed in: at or after `validFrom`. */
export function signedIn(user: FakeUser) {
  const signedInAtMs = BigInt(Math.max(Date.now(), Number(user.validFrom) * 1000));
  return { user: userMessage(user), signedInAtMs };
}

/** The passwords, authenticator apps, recovery codes and passkeys of the people of a directory in memory. */
export class FakeWaysIn {
  readonly #people: People;
  readonly #usedChallenges = new Set<string>();

  constructor(people: People) {
    this.#people = people;
  }

  calls(): Calls {
    return { ...this.#passwords(), ...this.#apps(), ...this.#recoveryCodes(), ...this.#passkeys() };
  }

  #user(tenantId: string, userId: string): FakeUser | undefined {
    return this.#people.users.get(`${tenantId} ${userId}`);
  }

  /** Changes a user and answers with them. */
  async #changed({ tenantId, userId }: FakeUser, fields: Partial<FakeUser>) {
    await this.#people.changeUser(userId, fields);
    const user = this.#user(tenantId, userId);
    if (user === undefined) throw new Error('the user has gone');
    return { user: userMessage(user) };
  }

  #needsPresentVersion(): void {
    if (this.#people.isEarlier) throw new ConnectError('no such method', Code.Unimplemented);
  }

  #passwords(): Calls {
    return {
      replacePassword: async ({ tenantId, userId, presentPassword, newPassword }) => {
        const user = this.#user(tenantId, userId);
        if (user?.password !== presentPassword || user.status !== Status.ACTIVE) return {};
        if (newPassword.length < 8) return { passwordProblem: 'must have at least 8 characters' };
        const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
        const changed = await this.#changed(user, { password: newPassword, validFrom });
        return { ...changed, signedInAtMs: validFrom * 1000n };
      },
    };
  }

  #apps(): Calls {
    return {
      proposeTotp: ({ seed }) => ({ uri: `otpauth://totp/a:b?secret=${seed}` }),
      verifyProposedTotp: ({ tenantId, userId, code }) => {
        this.#needsPresentVersion();
        const user = this.#user(tenantId, userId);
        if (user === undefined || user.totpCode !== undefined || code !== enrolmentCode) return {};
        return { timeStep: 1n };
      },
      verifySecondFactor: ({ tenantId, userId, code }) => {
        const user = this.#user(tenantId, userId);
        if (user === undefined || user.status !== Status.ACTIVE) return {};
        if (![user.totpCode, user.recoveryCode].includes(code)) return {};
        return { user: userMessage(user) };
      },
    };
  }

  #recoveryCodes(): Calls {
    return {
      proposeRecoveryCodes: ({ seed }) => {
        this.#needsPresentVersion();
        return { codes: [`1-${seed}`, `2-${seed}`] };
      },
      adoptProposal: async ({ tenantId, userId, seed, timeStep }) => {
        this.#needsPresentVersion();
        const user = this.#user(tenantId, userId);
        if (user?.status !== Status.ACTIVE) return {};
        if (user.adopted === seed) return { user: userMessage(user) };
        if (timeStep !== undefined && user.totpCode !== undefined) return { superseded: true };
        if (timeStep === undefined && user.totpCode === undefined && user.hasPasskey !== true) return {};
        const app = timeStep !== undefined && { totpCode: enrolmentCode };
        return this.#changed(user, { adopted: seed, recoveryCode: `1-${seed}`, ...app });
      },
    };
  }

  #passkeys(): Calls {
    return {
      proposePasskey: ({ ceremony }) => ({ options: JSON.stringify({ challenge: ceremony?.challenge }) }),
      enrolPasskey: async ({ tenantId, userId, ceremony, response, byBrowser }) => {
        const user = this.#user(tenantId, userId);
        if (user === undefined || !this.#isNewAnswer(userId, ceremony?.challenge, response)) return {};
        const unverified = byBrowser && user.makesPasskeysAlone === true;
        return { ...(await this.#changed(user, { hasPasskey: true })), synced: true, unverified };
      },
      verifyPasskey: ({ tenantId, userId, ceremony, response }) => {
        const { id = '' } = JSON.parse(response) as { id?: string };
        const user = this.#user(tenantId, id);
        if (user?.hasPasskey !== true || user.status !== Status.ACTIVE) return {};
        if (userId !== '' && userId !== id) return {};
        if (!this.#isNewAnswer(id, ceremony?.challenge, response)) return {};
        return { ...signedIn(user), synced: false };
      },
    };
  }

  /** Each challenge is answered once. */
  #isNewAnswer(userId: string, challenge = '', response = ''): boolean {
    if (this.#usedChallenges.has(challenge) || response !== passkeyAnswer(userId, challenge)) return false;
    this.#usedChallenges.add(challenge);
    return true;
  }
}
