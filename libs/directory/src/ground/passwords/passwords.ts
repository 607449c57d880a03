import { isDeepStrictEqual } from 'node:util';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { costOf, ownParameters as parameters } from '../hashing/cost.ts';
import { argon2Tag, belongs } from '../hashing/derive.ts';
import type { HashQueue, SignInSource } from '../hashing/hash-queue.ts';
import {
  decodePasswordHash,
  encodePasswordHash,
  longestPassword,
  type PasswordHash,
} from '../hashing/phc.ts';

const saltBytes = 16;
const tagBytes = 32;

export interface PasswordsDeps {
  readonly hashQueue: HashQueue;
  readonly random: Random;
}

/** Verifies and creates password hashes, a bounded number at a time. */
export class Passwords {
  readonly #hashQueue: HashQueue;
  readonly #random: Random;
  /** The passwords of unknown people are compared with this if their tenant has no hash; no password has this tag. */
  readonly #dummy: PasswordHash;

  constructor({ hashQueue, random }: PasswordsDeps) {
    this.#hashQueue = hashQueue;
    this.#random = random;
    this.#dummy = { ...parameters, salt: random.bytes(saltBytes), tag: random.bytes(tagBytes) };
  }

  /**
   * Whether `password` matches `stored` (a PHC string). Without a stored hash it returns false after comparing with
   * `standIn`, the hash of another person, so that hashes of different algorithms and costs do not reveal who exists.
   * Throws `invalid_request` for a password of more than 1024 characters, before any hashing, and
   * `temporarily_unavailable` if too many passwords are being verified.
   */
  async verify(
    password: string,
    stored: string | undefined,
    {
      source,
      standIn,
      signal,
    }: {
      readonly source: SignInSource;
      readonly standIn?: string | undefined;
      readonly signal?: AbortSignal;
    },
  ): Promise<boolean> {
    if (password.length > longestPassword) {
      throw new OAuthError(
        'invalid_request',
        `The password must have at most ${longestPassword} characters.`,
      );
    }
    if (password === '') return false;
    const known = stored === undefined ? undefined : decodePasswordHash(stored);
    const other = standIn === undefined ? undefined : decodePasswordHash(standIn);
    const compared = known ?? other ?? this.#dummy;
    const cost = costOf(compared);
    const matches = await this.#hashQueue.run(() => belongs(password, compared), source, { cost, signal });
    return matches && known !== undefined;
  }

  /** Whether a hash has the parameters of new ones. */
  isCurrent(stored: string): boolean {
    const known = decodePasswordHash(stored);
    return known?.algorithm === 'argon2id' && isDeepStrictEqual({ ...known, ...parameters }, known);
  }

  /** Whether passwords may be compared with a hash. One that was stored under other bounds may be too costly. */
  isUsable(stored: string): boolean {
    return decodePasswordHash(stored) !== undefined;
  }

  /** A new PHC string of a password of somebody of the tenant. */
  async renewed(password: string, tenantId: string, signal?: AbortSignal): Promise<string> {
    return this.#hashQueue.runInBackground(() => this.#make(password), tenantId, { signal });
  }

  /**
   * As `renewed`, for a password that a person has just chosen: in their turn. Throws `temporarily_unavailable` as
   * `verify` does.
   */
  async chosen(password: string, source: SignInSource, signal?: AbortSignal): Promise<string> {
    return this.#hashQueue.run(() => this.#make(password), source, { signal });
  }

  /**
   * The PHC string to store for a declared password: `stored` if it matches, else a new one. The comparison hashes the
   * password, because any cheaper record of it would be a cheaper target for guessing.
   */
  async hashUnlessKnown(
    password: string,
    stored: string | undefined,
    tenantId: string,
    signal?: AbortSignal,
  ): Promise<string> {
    const known = stored === undefined ? undefined : decodePasswordHash(stored);
    const comparison = async () => {
      if (stored !== undefined && known !== undefined && (await belongs(password, known))) return stored;
      return this.#make(password);
    };
    return this.#hashQueue.runInBackground(comparison, tenantId, {
      signal,
      ...(known !== undefined && { cost: costOf(known) }),
    });
  }

  async #make(password: string): Promise<string> {
    const salt = this.#random.bytes(saltBytes);
    const tag = await argon2Tag(password, { ...parameters, salt }, tagBytes);
    return encodePasswordHash({ ...parameters, salt, tag });
  }
}
