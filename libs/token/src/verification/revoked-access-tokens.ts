import { boundedCache, repeat } from '@tessera/kit';
import type { Runtime } from '@tessera/process';
import type { ChangeFeed } from '@tessera/stores';
import type { RecordedRevocation, RevocationStore } from '../store/store.ts';

/** The longest possible lifetime of an access token. */
const keptMs = 24 * 3_600_000;
const capacity = 100_000;
const pauseMs = 500;
const known = {};

/** The access tokens that were revoked before they expire, kept in memory so that no token needs a look-up. */
export interface RevokedAccessTokens {
  has(tokenId: string): boolean;
  /** Adds a token that this process has just revoked; other processes learn of it from the feed. */
  add(tokenId: string): void;
  /** Resolves once the revocations of the last day are known. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Follows the revocation feed. If the feed cannot be read, the tokens that are known stay revoked. */
export function createRevokedAccessTokens(
  revocations: Pick<RevocationStore, 'newestChange' | 'revokedAccessTokens'>,
  feed: ChangeFeed<RecordedRevocation>,
  { log }: Pick<Runtime, 'log'>,
): RevokedAccessTokens {
  const revoked = boundedCache<object>(capacity);
  const add = (tokenId: string) => void revoked.set(tokenId, known, { ttl: keptMs });
  const loaded = Promise.withResolvers<void>();

  /** Loads everything and follows the feed until it ends. */
  async function follow(signal: AbortSignal): Promise<void> {
    const position = await revocations.newestChange();
    for (const tokenId of await revocations.revokedAccessTokens()) add(tokenId);
    loaded.resolve();
    for await (const item of feed.watch(position, signal)) {
      if (item.kind === 'position' && item.sequence < position) return;
      if (item.kind === 'change' && item.change.tokenId !== '') add(item.change.tokenId);
    }
  }

  const following = repeat(follow, {
    pauseMs,
    onError(error, failures) {
      if (failures === 1) log.warn({ err: error }, 'cannot read the revoked access tokens');
    },
  });
  return {
    has: (tokenId) => revoked.has(tokenId),
    add(tokenId) {
      add(tokenId);
      feed.poke();
    },
    ready: () => loaded.promise,
    close: () => following.close(),
  };
}
