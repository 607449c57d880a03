/** Runs the steps of the pipelines as they are, with stand-ins for docker and for what comments on a pull request. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect } from '../harness/expect.ts';

const root = join(import.meta.dirname, '../..');
const cli = join(root, 'apps/cli/src/main.ts');
const folder = join(root, 'test-output/examples/pipeline');
const secret = 'secret-of-the-examples-not-for-production';
const file = join(folder, 'orders.yaml');
const comment = join(folder, 'comment.txt');

type Variables = Readonly<Record<string, string>>;

/** What a pipeline does on a pull request, and on the main branch. */
interface Pipeline {
  readonly name: string;
  readonly propose: Job;
  readonly apply: Job;
}

interface Job {
  /** Each in a shell of its own. */
  readonly scripts: readonly string[];
  readonly environment: Variables;
}

/** As docker, which takes nothing of the environment but what `-e` names. */
const docker = `#!/bin/sh
kept=
while [ "$1" != tessera ]; do
  if [ "$1" = -e ]; then kept="$kept $2=$(printenv "$2")"; fi
  shift
done
shift
exec env -i PATH="$PATH" HOME=/nonexistent $kept '${process.execPath}' '${cli}' "$@"
`;
const gh = `#!/bin/sh
while [ "$1" != --body-file ]; do shift; done
cp "$2" '${comment}'
`;
const wget = `#!/bin/sh
while [ "$1" != --post-data ]; do shift; done
printf '%s' "$2" > '${comment}'
`;

/**
 * Throws unless both pipelines say what a file would change, change it, and are refused what is not their team's.
 * Resolves with what was done.
 */
export async function walkPipelines(issuer: string, dataDirectory: string): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, text] of Object.entries({ docker, gh, wget }))
    writeFileSync(join(bin, name), text, { mode: 0o755 });
  const { target } = JSON.parse(readFileSync(join(dataDirectory, 'administration.json'), 'utf8')) as {
    readonly target: string;
  };
  const here = (text: string) =>
    text
      .replaceAll('https://admin.id.example.com', `http://${target}`)
      .replaceAll('https://id.example.com', issuer);
  const own = (name: string) => here(readFileSync(join(import.meta.dirname, name), 'utf8'));
  const asOperator = (words: readonly string[], input = '') =>
    execFileSync(process.execPath, [cli, ...words], {
      env: { TESSERA_DATA_DIR: dataDirectory, ORDERS_PIPELINE_SECRET: secret },
      encoding: 'utf8',
      input,
    });
  asOperator(['apply', '-f', '-', '--allow-administration'], own('operator.yaml'));
  const state = () => asOperator(['get', '--tenant', 'shop']);
  let output = '';
  const runJob = ({ scripts, environment }: Job): number => {
    for (const script of scripts) {
      const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', script], {
        cwd: folder,
        env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...environment },
        encoding: 'utf8',
      });
      output = `${stdout}${stderr}`;
      if (status !== 0) return status ?? -1;
    }
    return 0;
  };

  const pipelines = [github(own('github.yaml')), gitlab(own('gitlab-ci.yml'))];
  for (const { name, propose, apply } of pipelines) {
    const check = (holds: boolean, what: string) => expect(holds, `${name} ${what}\n${output}`);
    const proposed = (text: string) => {
      writeFileSync(file, text);
      rmSync(comment, { force: true });
      return { code: runJob(propose), said: readFileSync(comment, 'utf8') };
    };
    const declared = own('orders.yaml').replaceAll('orders-web', `orders-${name}`);
    const before = state();
    const first = proposed(declared);
    check(first.code === 0 && first.said.includes(`orders-${name}`), 'says what a file would add');
    check(state() === before, 'changes nothing before the file is merged');
    check(runJob(apply) === 0 && state().includes(`orders-${name}`), 'applies the file');
    const again = proposed(declared);
    check(again.code === 0 && !again.said.includes(`orders-${name}`), 'finds nothing to change again');
    const without = proposed(declared.slice(0, declared.indexOf('    applications:')));
    check(without.code !== 0 && without.said.includes(`orders-${name}`), 'says what needs --allow-delete');
    const applied = state();
    writeFileSync(
      file,
      declared.replace('owner: orders', 'owner: billing').replace('name: Orders', 'name: Ours'),
    );
    check(runJob(apply) !== 0 && state() === applied, 'writes nothing as another team');
    // The next one begins without it.
    asOperator(['application', 'delete', '--tenant', 'shop', '--client-id', `orders-${name}`, '--take-over']);
  }
  return `${pipelines.length} pipelines proposed and applied a file, and were refused what is not their team's`;
}

interface GithubJob {
  readonly env: Variables;
  readonly steps: readonly { readonly run?: string; readonly env?: Variables }[];
}

function github(text: string): Pipeline {
  const { env, jobs } = parse(text) as {
    readonly env: Variables;
    readonly jobs: Readonly<Record<'propose' | 'apply', GithubJob>>;
  };
  const jobOf = (job: GithubJob): Job => ({
    scripts: job.steps.flatMap(({ run }) => run ?? []),
    environment: {
      ...env,
      ...job.env,
      ...Object.fromEntries(job.steps.flatMap((step) => Object.entries(step.env ?? {}))),
      TESSERA_CLIENT_SECRET: secret,
    },
  });
  return { name: 'github', propose: jobOf(jobs.propose), apply: jobOf(jobs.apply) };
}

interface GitlabJob {
  readonly script: readonly string[];
}

function gitlab(text: string): Pipeline {
  const { variables, ...jobs } = parse(text) as {
    readonly variables: Variables;
    readonly propose: GitlabJob;
    readonly apply: GitlabJob;
  };
  const environment = { ...variables, TESSERA_CLIENT_SECRET: secret };
  // One shell runs all the lines of a job.
  const jobOf = ({ script }: GitlabJob): Job => ({ scripts: [script.join('\n')], environment });
  return { name: 'gitlab', propose: jobOf(jobs.propose), apply: jobOf(jobs.apply) };
}
