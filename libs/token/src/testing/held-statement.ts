import { testDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { world } from './world.ts';

/** A world where, after `hold()`, the next statement of this name waits until `release()`. */
export async function worldThatHolds(name: string) {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let armed = false;
  const database = await testDatabase(migrations);
  const held = await world({
    runtime: {
      database: {
        ...database,
        async query(statement) {
          if (armed && statement.name === name) {
            armed = false;
            reached.resolve();
            await released.promise;
          }
          return database.query(statement);
        },
      },
    },
  });
  return { ...held, hold: () => (armed = true), reached: reached.promise, release: released.resolve };
}
