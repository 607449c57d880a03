/**
 * `npm run test:mutation`: changes the code in one place at a time and runs the tests that should notice. A change that
 * no test notices shows a missing test. Once a month, not part of `npm test`: a whole run takes hours.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { provideStores } from '../libs/test-kit/src/provide-stores.ts';
import { filesOfAreas, testsOf } from './mutation/areas.ts';
import { findMutants } from './mutation/find-mutants.ts';
import { keyOf, type Mutant } from './mutation/mutant.ts';
import { formatSummary, summarize, type AcceptedSurvivor } from './mutation/report.ts';
import { runMutants } from './mutation/run-mutants.ts';

const usage = `npm run test:mutation -- [options]

  --sample n     n mutants, the same number of each area; by default all
  --seed s       which ones: the same seed gives the same sample of the same sources
  --only PATH    mutants of this file or folder; may be repeated
  --jobs n       mutants at a time, by default half the number of processors
  --json FILE    write each mutant and its outcome
  --list         name the mutants and stop
`;

/** Percentage of killed mutants below which the run fails. */
const goal = 95;
const root = dirname(import.meta.dirname);

interface Options {
  readonly sample: number | undefined;
  readonly seed: string;
  readonly only: readonly string[];
  readonly jobs: number;
  readonly json: string | undefined;
  readonly list: boolean;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: new Date().toISOString().slice(0, 7) },
      only: { type: 'string', multiple: true, default: [] },
      jobs: { type: 'string', default: `${Math.max(1, Math.floor(availableParallelism() / 2))}` },
      json: { type: 'string' },
      list: { type: 'boolean', default: false },
    },
  });
  const { sample, jobs, ...others } = values;
  return {
    ...others,
    json: others.json,
    sample: sample === undefined ? undefined : positive('sample', sample),
    jobs: positive('jobs', jobs),
  };
}

function positive(name: string, value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new TypeError(`--${name} is a whole number above 0.`);
  return Number(value);
}

const sources = filesOfAreas(root);
const areaOf = ({ language, path }: Mutant): string =>
  language === 'sql' ? 'SQL' : (sources.get(path) ?? 'SQL');

/** Of the files that only the area of SQL names, only the statements. */
const findAll = (): Mutant[] =>
  [...sources].flatMap(([path, area]) =>
    findMutants(path, readFileSync(join(root, path), 'utf8')).filter(
      ({ language }) => area !== 'SQL' || language === 'sql',
    ),
  );

/**
 * In the order of a hash with the seed, so that a mutant stays in the sample when others come and go; each area in
 * turn.
 */
function takeSample(mutants: readonly Mutant[], { sample, seed }: Options): Mutant[] {
  if (sample === undefined) return [...mutants];
  const rank = (mutant: Mutant) =>
    createHash('sha256')
      .update(`${seed}\n${mutant.line}\n${keyOf(mutant)}`)
      .digest('hex');
  const shuffled = [...mutants].map((mutant) => ({ mutant, rank: rank(mutant) }));
  shuffled.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const areas = Map.groupBy(shuffled, ({ mutant }) => areaOf(mutant));
  const inTurn = [...areas.values()].flatMap((members) =>
    members.map(({ mutant }, turn) => ({ mutant, turn })),
  );
  return inTurn
    .toSorted((a, b) => a.turn - b.turn)
    .slice(0, sample)
    .map(({ mutant }) => mutant);
}

async function main(options: Options): Promise<number> {
  const all = findAll();
  const { only, jobs } = options;
  const chosen = all.filter(({ path }) => only.length === 0 || only.some((start) => path.startsWith(start)));
  const mutants = takeSample(chosen, options);
  console.log(`${mutants.length} of ${all.length} mutants, seed ${options.seed}`);
  if (options.list) {
    for (const mutant of mutants) console.log(`${mutant.path}:${mutant.line}: ${mutant.change}`);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupted.abort());
  process.env['TESSERA_TEST_RUN'] = randomBytes(4).toString('hex');
  const stores = await provideStores(process.env);
  try {
    const results = await runMutants(
      {
        mutants,
        testsOf,
        jobs,
        workers: 2,
        graceSeconds: 20,
        environment: testEnvironment(stores),
        say: (line) => console.log(line),
      },
      interrupted.signal,
    );
    const file = join(import.meta.dirname, 'mutation/accepted-survivors.json');
    const accepted = JSON.parse(readFileSync(file, 'utf8')) as AcceptedSurvivor[];
    const summary = summarize(results, all, accepted, areaOf);
    console.log(`\n${formatSummary(summary)}`);
    if (options.json !== undefined)
      writeFileSync(options.json, `${JSON.stringify({ ...summary, results }, undefined, 2)}\n`);
    return summary.score >= goal && summary.outdated.length === 0 ? 0 : 1;
  } finally {
    await stores.stop();
  }
}

/** As `npm test` has it: processes under test get the stores that their test names, never these by accident. */
function testEnvironment({ postgres, redis }: Awaited<ReturnType<typeof provideStores>>): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...environment } = process.env;
  return { ...environment, TESSERA_TEST_DATABASE_URL: postgres.url, TESSERA_TEST_REDIS_URL: redis.url };
}

try {
  process.exitCode = await main(readOptions());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof TypeError) process.stderr.write(`\n${usage}`);
  process.exitCode = 1;
}
