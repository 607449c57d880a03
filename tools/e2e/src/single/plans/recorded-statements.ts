import { spawn } from 'node:child_process';
import { createReadStream, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { loggingStatements, requiredUrl, startPostgres } from '@tessera/test-kit/provision';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));

/** Tests of the stores and of what asks a database directly: together they run every statement. */
const storeTests = [
  'libs/token/src/counts/',
  'libs/token/src/store/',
  'libs/authorize/src/store/store.postgres.test.ts',
  'libs/authorize/src/sessions/count-sign-ins.test.ts',
  'libs/authorize/src/store/upstream-sessions.test.ts',
  'libs/authorize/src/logout/provider-logout.test.ts',
  'libs/authorize/src/account/',
  'libs/authorize/src/consent/',
  'libs/authorize/src/methods/upstream/',
  'libs/device/src/store/decision-store.postgres.test.ts',
  'libs/device/src/delivery/',
  'libs/directory/src/applications/',
  'libs/directory/src/assertions/',
  'libs/directory/src/deleted/deleted-records.test.ts',
  'libs/directory/src/store/',
  'libs/directory/src/records/',
  'libs/directory/src/providers/',
  'libs/directory/src/wiring.test.ts',
  'libs/directory/src/apply/',
  'libs/directory/src/plans/',
  'libs/people/src/account/',
  'libs/people/src/bootstrap/',
  'libs/people/src/identity/',
  'libs/people/src/links/',
  'libs/people/src/mail/mail.test.ts',
  'libs/people/src/mail/mail-purge.test.ts',
  'libs/people/src/mail/outbox-calls.test.ts',
  'libs/people/src/one-time/',
  'libs/people/src/passkey/',
  'libs/people/src/password/',
  'libs/people/src/registration/',
  'libs/people/src/totp/',
  'libs/people/src/wiring.test.ts',
  'libs/keys/src/store.postgres.test.ts',
  'libs/audit/',
  'libs/process/src/clock/clock-skew.test.ts',
  'apps/cli/src/operate/operate.test.ts',
];

/** A statement as it was run: its text, and the values of its parameters as SQL literals. */
export interface RecordedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly string[];
}

/**
 * The product's named statements that the tests of the stores run, read from the log of Postgres: in a whole run they
 * have run by now, else they run here, on a Postgres of their own. Some names have several texts.
 */
export async function recordStatements(): Promise<readonly RecordedStatement[]> {
  const log = process.env['TESSERA_TEST_STATEMENTS'];
  const recorded = log === undefined ? [] : await statementsIn(log);
  if (log !== undefined) await endLogging();
  if (namesWithout(recorded).length === 0) return recorded;
  const postgres = await startPostgres(loggingStatements);
  try {
    await runStoreTests(postgres.url);
    return await statementsIn(postgres.statements);
  } finally {
    await postgres.stop();
  }
}

/** Nobody reads what sessions log that begin from now on. */
async function endLogging(): Promise<void> {
  const client = new Client({ connectionString: requiredUrl('TESSERA_TEST_DATABASE_URL') });
  await client.connect();
  try {
    await client.query("ALTER ROLE CURRENT_USER SET log_statement = 'none'");
  } finally {
    await client.end();
  }
}

/** The names in the sources that no statement has. */
export const namesWithout = (statements: readonly RecordedStatement[]): readonly RegExp[] =>
  namesInSources().filter((name) => !statements.some((each) => name.test(each.name)));

function runStoreTests(databaseUrl: string): Promise<void> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'unit', ...storeTests], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TESSERA_TEST_DATABASE_URL: databaseUrl },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`The store tests failed:\n${output}`)),
    );
  });
}

async function statementsIn(log: string): Promise<readonly RecordedStatement[]> {
  const names = namesInSources();
  const known = new Map<string, boolean>();
  const isOfSources = (name: string): boolean => {
    const found = known.get(name) ?? names.some((each) => each.test(name));
    known.set(name, found);
    return found;
  };
  const statements = new Map<string, RecordedStatement>();
  for await (const line of createInterface({ input: createReadStream(log) })) {
    // The last one may still be under way.
    if (!line.endsWith('}')) continue;
    // A whole run writes millions of lines, most of them of statements without a name, or of tests.
    const [, named] = /"message":"execute ([\w.]+): /u.exec(line) ?? [];
    if (named === undefined || /^(test|migrate)\./u.test(named) || !isOfSources(named)) continue;
    const { message, detail } = JSON.parse(line) as { readonly message?: string; readonly detail?: string };
    const [, name, run] = /^execute ([\w.]+): (.+)$/su.exec(message ?? '') ?? [];
    if (name === undefined || run === undefined) continue;
    // The tests of the audit have a schema of their own with the table that every service has.
    const text = run.replaceAll(/\bsample\./gu, 'token.');
    const values = [...(detail ?? '').matchAll(/\$\d+ = (NULL|'(?:[^']|'')*')/gu)].map(
      ([, value = '']) => value,
    );
    // Without a value a condition may vanish, and with it the index.
    const shape = values.map((value) => value === 'NULL').join();
    statements.set(`${name} ${text} ${shape}`, { name, text, values });
  }
  return [...statements.values()];
}

/**
 * The names of the product's statements as its sources write them: a part that is computed stands for any word. Left
 * out are those of migrations, which run alone, and of readiness, which read no row.
 */
export function namesInSources(): readonly RegExp[] {
  const names = new Set<string>();
  for (const file of globSync('libs/*/src/**/*.ts', { cwd: root })) {
    if (/\.test\.ts$|\.contract\.ts$|\/(testing|contract)\/|^libs\/test-kit\//u.test(file)) continue;
    const source = readFileSync(join(root, file), 'utf8');
    for (const [, , name = ''] of source.matchAll(/\bname: (['`])(.+?)\1,\s+text\b/gu)) names.add(name);
  }
  return [...names]
    .filter((name) => !/^migrate\.|\.ready$/u.test(name))
    .map((name) => new RegExp(`^${name.replaceAll('.', '\\.').replaceAll(/\$\{.+?\}/gu, '\\w+')}$`, 'u'));
}
