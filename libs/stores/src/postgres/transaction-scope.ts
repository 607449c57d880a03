import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Finds the mistake of asking the database itself, instead of the transaction's handle, inside a transaction: it would
 * wait for ever on the one session of PGlite, and for a second connection of the pool on Postgres.
 */
export function createTransactionScope() {
  const inside = new AsyncLocalStorage<{ open: boolean }>();
  return {
    async enter<T>(work: () => Promise<T>): Promise<T> {
      const state = { open: true };
      try {
        return await inside.run(state, work);
      } finally {
        state.open = false;
      }
    },
    assertOutside(): void {
      if (inside.getStore()?.open === true) {
        throw new Error('Inside a transaction, ask the handle that the transaction was given.');
      }
    },
  };
}
