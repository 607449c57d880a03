import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Finds the mistake of asking the database itself, instead of the transaction's handle, inside a transaction: it would
 * wait for ever on the one session of PGlite, and for a second connection of the pool on Postgres.
 */
export interface TransactionScope {
  enter<T>(work: () => Promise<T>): Promise<T>;
  assertOutside(): void;
}

export function createTransactionScope(): TransactionScope {
  const inside = new AsyncLocalStorage<{ open: boolean }>();
  return {
    async enter(work) {
      const state = { open: true };
      try {
        return await inside.run(state, work);
      } finally {
        state.open = false;
      }
    },
    assertOutside() {
      if (inside.getStore()?.open === true) {
        throw new Error('Inside a transaction, ask the handle that the transaction was given.');
      }
    },
  };
}
