import { type DirectoryService, Status } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';

type Calls = Pick<Handlers<typeof DirectoryService>, 'requestMailCode' | 'sendMailCode' | 'verifyMailCode'>;

interface Person {
  readonly userId: string;
  readonly status: Status;
}

/** What somebody asked a code for, or was sent one. */
interface Asked {
  readonly visit: string;
  readonly languages: string;
  readonly identifier?: string;
  readonly userId?: string;
}

/** The codes that people of a directory in memory are mailed. Each visit has one at a time. */
export class FakeMailCodes<P extends Person> {
  /** In order. */
  readonly asked: Asked[] = [];
  /** Whether people get too much mail. */
  isLimited = false;
  /** By visit: whose code, and which. */
  readonly #codes = new Map<string, { readonly user: P; readonly code: string }>();

  /** The code that was mailed for a visit; undefined if there is none. */
  codeOf(visit: string): string | undefined {
    return this.#codes.get(visit)?.code;
  }

  #mail(visit: string, user: P | undefined): void {
    this.#codes.delete(visit);
    const code = String(10_000_000 + this.asked.length);
    if (user?.status === Status.ACTIVE) this.#codes.set(visit, { user, code });
  }

  /** The calls, for the people that `find` finds by their names, addresses or IDs. */
  calls(find: (tenantId: string, name: string) => P | undefined, message: (user: P) => object): Calls {
    return {
      requestMailCode: ({ tenantId, identifier, visit, languages }) => {
        this.asked.push({ visit, languages, identifier });
        this.#mail(visit, find(tenantId, identifier));
        return {};
      },
      sendMailCode: ({ tenantId, userId, visit, languages }) => {
        this.asked.push({ visit, languages, userId });
        if (this.isLimited) return { sent: false };
        this.#mail(visit, find(tenantId, userId));
        return { sent: true };
      },
      verifyMailCode: ({ userId, visit, code }) => {
        const sent = this.#codes.get(visit);
        if (sent?.code !== code || (userId !== '' && sent.user.userId !== userId)) return {};
        this.#codes.delete(visit);
        return { user: message(sent.user), signedInAtMs: BigInt(Date.now()) };
      },
    };
  }
}
