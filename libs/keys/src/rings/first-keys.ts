import { within } from '@tessera/kit';
import { defaultSigningAlgorithm, temporarilyUnavailable, type SigningAlgorithmName } from '@tessera/oauth';

/** Milliseconds that a key set waits for keys of another algorithm. */
const lookMs = 300;

/** How an issuer comes to keys of algorithms besides the default, whose first key comes with the issuer. */
export interface FirstKeys {
  /**
   * Makes the first keys of these rings, if there are none; those of the default algorithm come with the issuer. Throws
   * `temporarily_unavailable` if it cannot.
   */
  begin(algorithms: Iterable<SigningAlgorithmName>): Promise<void>;
  /**
   * Reads the keys of algorithms that this process holds none of, and makes those that are declared. Resolves with the
   * asked ones of which it knows every key: not with those that it can neither read nor make in time.
   */
  look(
    asked: readonly SigningAlgorithmName[],
    declared: readonly SigningAlgorithmName[],
  ): Promise<SigningAlgorithmName[]>;
}

export function createFirstKeys(deps: {
  /** Whether this process holds the active key. */
  readonly has: (algorithm: SigningAlgorithmName) => boolean;
  /** Reads the keys that are stored. Rejects if it cannot. */
  readonly refresh: () => Promise<void>;
  /** Stores a first key if there is none. Rejects if it cannot. */
  readonly establish: (algorithm: SigningAlgorithmName) => Promise<void>;
}): FirstKeys {
  const beginning = new Map<SigningAlgorithmName, Promise<void>>();
  let reading: Promise<void> | undefined;
  const isHeld = (name: SigningAlgorithmName) => name === defaultSigningAlgorithm || deps.has(name);

  async function begin(algorithms: Iterable<SigningAlgorithmName>): Promise<void> {
    for (const algorithm of algorithms) {
      if (isHeld(algorithm)) continue;
      // One attempt at a time, shared by its callers.
      const begun = beginning.get(algorithm) ?? make(algorithm).finally(() => beginning.delete(algorithm));
      beginning.set(algorithm, begun);
      await begun;
    }
  }

  async function make(algorithm: SigningAlgorithmName): Promise<void> {
    try {
      await deps.refresh();
      if (deps.has(algorithm)) return;
      await deps.establish(algorithm);
      await deps.refresh();
    } catch (error) {
      throw temporarilyUnavailable(error);
    }
  }

  async function look(
    asked: readonly SigningAlgorithmName[],
    declared: readonly SigningAlgorithmName[],
  ): Promise<SigningAlgorithmName[]> {
    const missing = declared.filter((name) => !isHeld(name));
    try {
      if (missing.length > 0) await within(lookMs, begin(missing));
      else if (!asked.every(isHeld))
        await within(lookMs, (reading ??= deps.refresh().finally(() => (reading = undefined))));
      return [...asked];
    } catch {
      return asked.filter(isHeld);
    }
  }

  return { begin, look };
}
