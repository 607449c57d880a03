import { keyOf, type Mutant } from './mutant.ts';
import type { Result } from './run-mutants.ts';

/** A survivor that no test can or should kill. Found by the text of its line, since lines move. */
export interface AcceptedSurvivor extends Pick<Mutant, 'path' | 'text' | 'change'> {
  readonly reason: string;
}

export interface Summary {
  readonly rows: readonly SummaryRow[];
  /** Killed mutants of those that are not accepted, in percent. */
  readonly score: number;
  readonly survivors: readonly Result[];
  /** Entries of the list of accepted survivors that a test kills now, or whose mutant no longer exists. */
  readonly outdated: readonly AcceptedSurvivor[];
}

export interface SummaryRow {
  readonly area: string;
  readonly path: string;
  readonly mutants: number;
  readonly killed: number;
  readonly accepted: number;
}

/** `all` are the mutants that could have been tested, of which `results` are a part. */
export function summarize(
  results: readonly Result[],
  all: readonly Mutant[],
  accepted: readonly AcceptedSurvivor[],
  areaOf: (mutant: Mutant) => string,
): Summary {
  const acceptedKeys = new Set(accepted.map(keyOf));
  const isAccepted = ({ mutant, outcome }: Result) =>
    outcome === 'survived' && acceptedKeys.has(keyOf(mutant));
  const groups = Map.groupBy(results, ({ mutant }) => `${areaOf(mutant)}\n${mutant.path}`);
  const rows = [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, members]) => {
      const [area = '', path = ''] = group.split('\n');
      const killed = members.filter(({ outcome }) => outcome !== 'survived').length;
      return { area, path, mutants: members.length, killed, accepted: members.filter(isAccepted).length };
    });
  const survivors = results.filter((result) => result.outcome === 'survived' && !isAccepted(result));
  const counted = results.filter((result) => !isAccepted(result)).length;
  const existing = new Set(all.map(keyOf));
  // The same change may be possible in several equal lines of a file: the entry stands for all of them.
  const survived = new Set(results.filter(isAccepted).map(({ mutant }) => keyOf(mutant)));
  const tested = new Set(results.map(({ mutant }) => keyOf(mutant)));
  return {
    rows,
    survivors,
    score: counted === 0 ? 100 : (100 * (counted - survivors.length)) / counted,
    outdated: accepted.filter((entry) => {
      const key = keyOf(entry);
      return !existing.has(key) || (tested.has(key) && !survived.has(key));
    }),
  };
}

/** The table and the lists below it, as lines for the terminal. */
export function formatSummary({ rows, score, survivors, outdated }: Summary): string {
  const total = (of: (row: SummaryRow) => number) => `${rows.reduce((sum, row) => sum + of(row), 0)}`;
  const cells = [
    ['area', 'file', 'mutants', 'killed', 'accepted'],
    ...rows.map(({ area, path, mutants, killed, accepted }) => [
      area,
      path,
      `${mutants}`,
      `${killed}`,
      `${accepted}`,
    ]),
    [
      'all',
      '',
      total(({ mutants }) => mutants),
      total(({ killed }) => killed),
      total(({ accepted }) => accepted),
    ],
  ];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...cells.map((line) => (line[column] ?? '').length)),
  );
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [
    ...lines,
    '',
    ...survivors.map(
      ({ mutant, remark }) => `Survived: ${mutant.path}:${mutant.line}: ${mutant.change} (${remark})`,
    ),
    ...outdated.map(
      ({ path, change }) => `Remove from accepted-survivors.json, no longer survives: ${path}: ${change}`,
    ),
    `${score.toFixed(1)} % killed of those not accepted`,
    '',
  ].join('\n');
}
