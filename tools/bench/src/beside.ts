import { textTable } from '@tessera/test-client';
import { ratioBetween, type Result } from './measure/row.ts';
import type { Topology } from './options.ts';
import { nameBeside } from './systems.ts';

/**
 * What each operation costs here and in another checkout, and how the first compares to the second, second by second.
 */
export function besideTable({ rows, starts }: Result, root: string, topologies: readonly Topology[]): string {
  const compared = topologies.flatMap((topology) => {
    const theirName = nameBeside(topology, root);
    const costs = rows
      .filter(({ system }) => system === topology)
      .flatMap((row) => {
        const theirs = rows.find(
          ({ system, operation }) => system === theirName && operation === row.operation,
        );
        if (theirs === undefined) return [];
        const micros = [row, theirs].map((one) => one.micros.toFixed());
        return [[row.operation, topology, ...micros, ratioBetween(row, theirs).toFixed(2)]];
      });
    const memory = [topology, theirName].map((name) => memoryOf(starts, name));
    const [ours = 0, theirs = 0] = memory;
    const sizes = memory.map((size) => size.toFixed());
    return [...costs, ['memory at rest, MiB', topology, ...sizes, (ours / theirs).toFixed(2)]];
  });
  const titles = ['CPU µs', 'on', 'here', root.split('/').at(-1) ?? root, '×'];
  return `${textTable([titles, ...compared], (column) => column > 1)}\n`;
}

function memoryOf(starts: Result['starts'], name: string): number {
  const memory = starts.find(({ system }) => system === name)?.memory ?? {};
  return Object.values(memory).reduce((sum, size) => sum + size, 0);
}
