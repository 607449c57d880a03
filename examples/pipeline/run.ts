/**
 * Runs the steps of the pipelines as they are, by tokens of an issuer of their own, with stand-ins for docker and for
 * what comments on a pull request.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect } from '../harness/expect.ts';
import { startJobTokens, type JobTokens } from './job-tokens.ts';

const root = join(import.meta.dirname, '../..');
const cli = join(root, 'apps/cli/src/main.ts');
const folder = join(root, 'test-output/examples/pipeline');
const file = join(folder, 'orders.yaml');
const comment = join(folder, 'comment.txt');

type Variables = Readonly<Record<string, string>>;

/** What a pipeline does on a pull request, and on the main branch; and a pull request at another repository. */
interface Pipeline {
  readonly name: string;
  readonly propose: Job;
  readonly apply: Job;
  readonly elsewhere: Job;
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
/** As the two are at the runners, as far as the steps use them. */
const curl = `#!${process.execPath}
const [, , ...words] = process.argv;
const [name, value] = words[words.indexOf('-H') + 1].split(': ');
fetch(words.at(-1), { headers: { [name]: value } }).then(async (answer) => {
  if (!answer.ok) process.exit(22);
  process.stdout.write(await answer.text());
});
`;
const jq = `#!${process.execPath}
let text = '';
process.stdin.on('data', (part) => (text += part)).on('end', () => console.log(JSON.parse(text)[process.argv[3].slice(1)]));
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
  for (const [name, text] of Object.entries({ docker, curl, jq, gh, wget }))
    writeFileSync(join(bin, name), text, { mode: 0o755 });
  const { target } = JSON.parse(readFileSync(join(dataDirectory, 'administration.json'), 'utf8')) as {
    readonly target: string;
  };
  const jobs = await startJobTokens();
  try {
    return await walk(issuer, { dataDirectory, target, bin, jobs });
  } finally {
    jobs.stop();
  }
}

async function walk(
  issuer: string,
  {
    dataDirectory,
    target,
    bin,
    jobs,
  }: { dataDirectory: string; target: string; bin: string; jobs: JobTokens },
): Promise<string> {
  const here = (text: string) =>
    text
      .replaceAll(/https:\/\/(?:token\.actions\.githubusercontent|gitlab)\.com/g, jobs.issuer)
      .replaceAll('https://admin.id.example.com', `http://${target}`)
      .replaceAll('https://id.example.com', issuer);
  const own = (name: string) => here(readFileSync(join(import.meta.dirname, name), 'utf8'));
  const asOperator = (words: readonly string[], input = '') =>
    execFileSync(process.execPath, [cli, ...words], {
      env: { TESSERA_DATA_DIR: dataDirectory },
      encoding: 'utf8',
      input,
    });
  asOperator(['apply', '-f', '-', '--allow-administration'], own('operator.yaml'));
  const state = () => asOperator(['get', '--tenant', 'shop']);
  let output = '';
  // The issuer of its tokens answers meanwhile.
  const runJob = async ({ scripts, environment }: Job): Promise<number> => {
    for (const script of scripts) {
      const shell = spawn('bash', ['-e', '-c', script], {
        cwd: folder,
        env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...environment },
      });
      output = '';
      for (const stream of [shell.stdout, shell.stderr])
        stream.on('data', (part: Buffer) => (output += part.toString()));
      const [code] = (await once(shell, 'close')) as [number | null];
      if (code !== 0) return code ?? -1;
    }
    return 0;
  };

  const pipelines = [github(own('github.yaml'), jobs), gitlab(own('gitlab-ci.yml'), jobs)];
  for (const { name, propose, apply, elsewhere } of pipelines) {
    const check = (holds: boolean, what: string) => expect(holds, `${name} ${what}\n${output}`);
    const proposed = async (text: string) => {
      writeFileSync(file, text);
      rmSync(comment, { force: true });
      return { code: await runJob(propose), said: readFileSync(comment, 'utf8') };
    };
    const declared = own('orders.yaml').replaceAll('orders-web', `orders-${name}`);
    const before = state();
    const first = await proposed(declared);
    check(first.code === 0 && first.said.includes(`orders-${name}`), 'says what a file would add');
    check(state() === before, 'changes nothing before the file is merged');
    process.stdout.write(`The comment of ${name}:\n${first.said}\n`);
    rmSync(comment, { force: true });
    check((await runJob(elsewhere)) !== 0 && !existsSync(comment), 'gets nothing for another repository');
    check(output.includes('invalid_client') && state() === before, 'says that another repository is refused');
    check(!/ey[\w-]+\.[\w-]+\.[\w-]+/.test(output), 'prints no token');
    check((await runJob(apply)) === 0 && state().includes(`orders-${name}`), 'applies the file');
    const again = await proposed(declared);
    check(again.code === 0 && !again.said.includes(`orders-${name}`), 'finds nothing to change again');
    const without = await proposed(declared.slice(0, declared.indexOf('    applications:')));
    check(without.code !== 0 && without.said.includes(`orders-${name}`), 'says what needs --allow-delete');
    const applied = state();
    writeFileSync(
      file,
      declared.replace('owner: orders', 'owner: billing').replace('name: Orders', 'name: Ours'),
    );
    check((await runJob(apply)) !== 0 && state() === applied, 'writes nothing as another team');
    // The next one begins without it.
    asOperator(['application', 'delete', '--tenant', 'shop', '--client-id', `orders-${name}`, '--take-over']);
  }
  return `${pipelines.length} pipelines proposed and applied a file, and were refused what is not their team's, and tokens of another repository`;
}

interface GithubJob {
  readonly env: Variables;
  readonly steps: readonly { readonly run?: string; readonly env?: Variables }[];
}

function github(text: string, jobs: JobTokens): Pipeline {
  const { env, jobs: written } = parse(text) as {
    readonly env: Variables;
    readonly jobs: Readonly<Record<'propose' | 'apply', GithubJob>>;
  };
  const jobOf = (job: GithubJob, subject: string): Job => ({
    scripts: job.steps.flatMap(({ run }) => run ?? []),
    environment: {
      ...env,
      ...job.env,
      ...Object.fromEntries(job.steps.flatMap((step) => Object.entries(step.env ?? {}))),
      ...jobs.variablesOf(subject),
    },
  });
  return {
    name: 'github',
    propose: jobOf(written.propose, 'repo:shop/orders:pull_request'),
    apply: jobOf(written.apply, 'repo:shop/orders:ref:refs/heads/main'),
    elsewhere: jobOf(written.propose, 'repo:evil/orders:pull_request'),
  };
}

interface GitlabJob {
  readonly script: readonly string[];
}

function gitlab(text: string, jobs: JobTokens): Pipeline {
  const {
    variables,
    default: usual,
    ...written
  } = parse(text) as {
    readonly variables: Variables;
    readonly default: { readonly id_tokens: Readonly<Record<string, { readonly aud: string }>> };
    readonly propose: GitlabJob;
    readonly apply: GitlabJob;
  };
  // One shell runs all the lines of a job, and gets its tokens as variables.
  const jobOf = ({ script }: GitlabJob, subject: string): Job => ({
    scripts: [script.join('\n')],
    environment: {
      ...variables,
      ...Object.fromEntries(
        Object.entries(usual.id_tokens).map(([name, { aud }]) => [name, jobs.token(subject, aud)]),
      ),
    },
  });
  const of = (project: string, branch: string) => `project_path:${project}:ref_type:branch:ref:${branch}`;
  return {
    name: 'gitlab',
    propose: jobOf(written.propose, of('shop/orders', 'proposal')),
    apply: jobOf(written.apply, of('shop/orders', 'main')),
    elsewhere: jobOf(written.propose, of('evil/orders', 'proposal')),
  };
}
