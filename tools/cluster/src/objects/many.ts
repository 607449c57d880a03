import { applicationObject } from '@tessera/test-client';
import { until } from '../kubernetes.ts';
import { ofRelease } from '../release.ts';
import { check } from '../scenario.ts';
import { progressOf, removeAll } from './application.ts';
import type { Installation } from './installation.ts';

const [many, kills] = [200, 20];
const controller = `${ofRelease},app.kubernetes.io/component=controller`;

const all = (spec: object = {}) =>
  Array.from({ length: many }, (_, index) => applicationObject(`bulk-${index}`, spec));

/** Many objects at once; changes and deletions of all of them while the controller is killed again and again. */
export async function manyAndKills({ own, stock, tessera }: Installation): Promise<string> {
  const others = (await progressOf(stock, 1)).all;
  const [started, elapsed] = [
    performance.now(),
    (since: number) => Math.round((performance.now() - since) / 1000),
  ];
  await stock.apply(all());
  const written = async (generation: number) => (await progressOf(stock, generation)).written;
  await until('not all objects are written', async () =>
    (await written(1)) >= many + others ? true : undefined,
  );
  const seconds = elapsed(started);

  /** Kills it each time that it got on, until it was killed so often. */
  async function killedOften(times: number, progress: () => Promise<number>): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const before = await progress();
      await until('the controller does not get on', async () =>
        (await progress()) > Math.min(before, many - 1) ? true : undefined,
      );
      await own.kubectl(['delete', 'pod', '--selector', controller, '--grace-period=0', '--force']);
    }
  }
  const disturbed = performance.now();
  const changed = all({ description: 'Another' });
  await Promise.all([stock.apply(changed), killedOften(kills / 2, () => written(2))]);
  await until('not all changes are written', async () => ((await written(2)) === many ? true : undefined));
  check((await recordsOf(tessera)) === many, 'not one record for each object');

  const gone = async () => many + others - (await progressOf(stock, 1)).all;
  await Promise.all([removeAll(stock), killedOften(kills / 2, gone)]);
  await until('not all objects are gone', async () => ((await gone()) === many + others ? true : undefined));
  check((await recordsOf(tessera)) === 0, 'a record is left without its object');
  return `${many} objects in ${seconds} s, changed and ended in ${elapsed(disturbed)} s with ${kills} kills`;
}

/** Records of the many, as Tessera has them. */
async function recordsOf(tessera: Installation['tessera']): Promise<number> {
  const { code, said } = await tessera('application', 'list', '--tenant', 'acme', '--direct', '-o', 'json');
  check(code === 0, `application list: ${code}`);
  return [...said.matchAll(/"clientId": ?"[^"]*\.bulk-\d+"/g)].length;
}
