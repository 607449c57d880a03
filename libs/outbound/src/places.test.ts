import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createPlaces, NoPlaceError } from './places.ts';

/** Work that ends when it is told to. */
function crowd() {
  let now = 0;
  const places = createPlaces({ now: () => now });
  const end = Promise.withResolvers<void>();
  let waits = 0;
  let refused = 0;
  const ask = async (server: string | undefined, address: string) => {
    let began = false;
    await places
      .hold({ server, address }, () => {
        began = true;
        waits += 1;
        return end.promise;
      })
      .catch((error: unknown) => {
        expect([error, began]).toEqual([expect.any(NoPlaceError), false]);
        refused += 1;
      });
  };
  return {
    places,

    ask(times: number, server: string | undefined, address = '192.0.2.1') {
      [waits, refused] = [0, 0];
      for (let time = 0; time < times; time += 1) void ask(server, address);
      return expect.poll(() => ({ waits, refused }));
    },
    advance: (ms: number) => (now += ms),
    async end() {
      end.resolve();
      await setImmediate();
    },
  };
}

describe('places of requests that wait for servers of others', () => {
  it('are 32 for a server that is quick, and the rest is refused at once', async () => {
    const { ask } = crowd();
    await ask(1_500, 'slow').toEqual({ waits: 32, refused: 1_468 });
    await ask(40, 'other', '192.0.2.2').toEqual({ waits: 32, refused: 8 });
  });

  it('are 16 for a server whose oldest caller waits for longer than a second, four of them for one address', async () => {
    const { ask, advance } = crowd();
    await ask(1, 'slow').toEqual({ waits: 1, refused: 0 });
    advance(1_001);
    await ask(10, 'slow').toEqual({ waits: 3, refused: 7 });
    await ask(10, 'slow', '192.0.2.2').toEqual({ waits: 4, refused: 6 });
    for (const last of ['3', '4']) await ask(4, 'slow', `192.0.2.${last}`).toEqual({ waits: 4, refused: 0 });
    await ask(4, 'slow', '192.0.2.5').toEqual({ waits: 0, refused: 4 });
    await ask(4, 'quick', '192.0.2.5').toEqual({ waits: 4, refused: 0 });
  });

  it('are 64 for one address and 256 in all, whatever the servers are', async () => {
    const { ask } = crowd();
    await ask(100, undefined).toEqual({ waits: 64, refused: 36 });
    for (const last of ['2', '3', '4'])
      await ask(64, undefined, `192.0.2.${last}`).toEqual({ waits: 64, refused: 0 });
    await ask(1, 'another', '192.0.2.5').toEqual({ waits: 0, refused: 1 });
  });

  it('are free again when the work ends, well or not', async () => {
    const { ask, end, places } = crowd();
    await ask(64, undefined).toEqual({ waits: 64, refused: 0 });
    await end();
    await ask(1, undefined).toEqual({ waits: 1, refused: 0 });
    const failing = async () =>
      places.hold({ server: 'a', address: 'b' }, () => Promise.reject(new Error('down')));
    for (let time = 0; time < 300; time += 1) await expect(failing()).rejects.toThrow('down');
  });
});
