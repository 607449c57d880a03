/**
 * `npm run test:examples [-- <example> ...]`: what `tessera client-config` prints for each stack, for confidential and
 * public applications, without an API resource, for each of two and with the choice left to the command. Each
 * configuration is run as it is, against a Tessera of their own and with a real browser, or must be refused with the
 * reason that the stack has. Downloads what the examples need. `keycloak` moves a realm of a Keycloak of its own,
 * `keycloak-move` under four applications that stay as they are; `upstream-*` have providers of other makes sign people
 * in to Tessera; `pipeline` applies a team's file as CI does.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stacks, type Stack } from '../apps/cli/src/client-config/stacks.ts';
import { accessToken } from './harness/access-token.ts';
import { startApi } from './harness/api.ts';
import { launch } from './harness/browser.ts';
import { examples, notRun, type Example } from './harness/examples.ts';
import { runExample } from './harness/run-example.ts';
import { tableOf, type Outcome } from './harness/table.ts';
import { startTessera } from './harness/tessera.ts';
import { apis, clientIdOf, printed, reasonToRefuse, types, type Variant } from './harness/variants.ts';
import { hasTools } from './keycloak/keycloak.ts';
import { importKeycloak } from './keycloak/run.ts';
import { hasTools as hasToolsToMove } from './keycloak-move/applications.ts';
import { moveApplications } from './keycloak-move/run.ts';
import { walkPipelines } from './pipeline/run.ts';
import { keycloakUpstream } from './upstream/realm.ts';
import { hasPython, toolkitUpstream } from './upstream/toolkit.ts';
import { walkUpstream } from './upstream/walk.ts';

const root = join(import.meta.dirname, '..');
const issuer = 'http://localhost:19480';
const secret = 'secret-of-the-examples-not-for-production';
const environment = {
  ...process.env,
  CLIENT_SECRET: secret,
  AUTH_SECRET: 'cookie-secret-of-the-examples-not-for-production',
};

type Part = Pick<Outcome, 'result' | 'detail'>;

/** What needs no configuration of a stack: run once, where the machine has what it needs. */
interface Other {
  readonly isPossible: () => boolean;
  /** What to provide otherwise. */
  readonly needs: string;
  /** Throws unless it does what it must. Resolves with what it did. */
  readonly run: () => Promise<string>;
}

const upstream = (
  tenantId: string,
  start: typeof keycloakUpstream,
  needed: Pick<Other, 'isPossible' | 'needs'>,
): Other => ({
  ...needed,
  run: async () => walkUpstream({ tenantId, browser, issuer, dataDirectory: server.directory, start }),
});

const forKeycloak = { isPossible: hasTools, needs: 'put java and mvn on the PATH' };

const others: Readonly<Record<string, Other>> = {
  pipeline: {
    isPossible: () => true,
    needs: '',
    run: async () => walkPipelines(issuer, server.directory),
  },
  keycloak: { ...forKeycloak, run: async () => importKeycloak(issuer, server.directory) },
  'keycloak-move': {
    isPossible: hasToolsToMove,
    needs: 'put java, mvn, go, npm and python3, with its module venv, on the PATH',
    run: async () => moveApplications(browser),
  },
  'upstream-keycloak': upstream('staff', keycloakUpstream, forKeycloak),
  'upstream-django-oauth-toolkit': upstream('crew', toolkitUpstream, {
    isPossible: hasPython,
    needs: 'put python3, with its module venv, on the PATH',
  }),
};

/** Every example, and every stack without one. */
const names = [...Object.keys(examples), ...Object.keys(notRun), ...Object.keys(others)];
const chosen = process.argv.length > 2 ? process.argv.slice(2) : names;
const unknown = chosen.filter((name) => !names.includes(name));
if (unknown.length > 0) throw new Error(`There is no example ${unknown.join(', ')}.`);

const workspaces = new Set<string>();
const isInstalled = (program: string): boolean =>
  spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;

function shell(command: string | undefined, folder: string, variables: NodeJS.ProcessEnv): void {
  if (command === undefined) return;
  execFileSync('/bin/sh', ['-c', command], {
    cwd: folder,
    env: variables,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Copies the example and installs what it needs, once, in a folder that is kept for the next run. */
function workspaceOf(name: string, { folder, workspace = name, install }: Example, stack: Stack): string {
  const path = join(root, 'test-output/examples', workspace);
  if (workspaces.has(workspace)) return path;
  workspaces.add(workspace);
  mkdirSync(path, { recursive: true });
  cpSync(join(root, 'examples', folder ?? stack.id), path, { recursive: true });
  shell(install, path, environment);
  return path;
}

/** Writes the configuration where its users keep it, and removes those of other stacks in the same folder. */
function place(folder: string, text: string, stack: Stack): void {
  if (folder.includes('spring')) {
    for (const { id, file } of stacks)
      if (id.startsWith('spring-boot')) rmSync(join(folder, file), { force: true });
  }
  mkdirSync(dirname(join(folder, stack.file)), { recursive: true });
  writeFileSync(join(folder, stack.file), text);
}

const api = await startApi();
const server = await startTessera(issuer, process.env['TESSERA_PROFILE'] ?? 'strict');
const browser = await launch();

/** Outcomes by configuration and application: the same text need not run twice. */
const earlier = new Map<string, Outcome>();

async function tryOut(name: string, variant: Variant): Promise<Part> {
  const example = examples[name];
  const stack = stacks.find(({ id }) => id === (example?.stack ?? name));
  if (stack === undefined) throw new Error(`There is no stack ${example?.stack ?? name}.`);
  const clientId = clientIdOf(variant, example?.withoutPkce ?? stack.withoutPkce ?? false);
  const expected = reasonToRefuse(stack.id, variant);
  const configuration = await printed(clientId, stack.id, variant.api, issuer);
  if ('reason' in configuration) {
    const { reason } = configuration;
    const isExpected = expected?.test(reason) === true;
    // Applications have names of their own; the reason is the same.
    return { result: isExpected ? 'refused' : 'FAILED', detail: reason.replaceAll(` for ${clientId}`, '') };
  }
  if (expected !== undefined) return { result: 'FAILED', detail: `It must be refused: ${String(expected)}` };
  if (example === undefined) return { result: 'not run', detail: notRun[name] ?? '' };
  if (example.needs !== undefined && !isInstalled(example.needs))
    return { result: 'not run', detail: `put ${example.needs} on the PATH` };
  const key = JSON.stringify([name, clientId, configuration.text]);
  const same = earlier.get(key);
  if (same !== undefined) return same;
  const folder = workspaceOf(name, example, stack);
  place(folder, configuration.text, stack);
  const scope = variant.api === 'billing' ? 'billing.read' : 'orders.read';
  const token =
    stack.signsIn === true
      ? ''
      : await accessToken(browser, issuer, { clientId, type: variant.type, secret, scope });
  const variables = { ...environment, ACCESS_TOKEN: token, API_SCOPE: scope };
  shell(example.build, folder, variables);
  const run = { example, folder, environment: variables, browser, issuer, clientId, accessToken: token };
  const outcome = { name, ...variant, result: 'ran', detail: await runExample(run) } as const;
  earlier.set(key, outcome);
  return outcome;
}

async function tryOther({ isPossible, needs, run }: Other): Promise<Part> {
  if (!isPossible()) return { result: 'not run', detail: needs };
  try {
    return { result: 'ran', detail: await run() };
  } catch (error) {
    return { result: 'FAILED', detail: error instanceof Error ? error.message : String(error) };
  }
}

const outcomes: Outcome[] = [];
const ofOthers: Part[] = [];
try {
  for (const [name, other] of Object.entries(others).filter(([each]) => chosen.includes(each))) {
    const outcome = await tryOther(other);
    ofOthers.push(outcome);
    process.stdout.write(`${name}: ${outcome.result}: ${outcome.detail}\n`);
  }
  for (const name of chosen.filter((each) => !Object.hasOwn(others, each))) {
    for (const variant of types.flatMap((type) => apis.map((each) => ({ type, api: each })))) {
      let outcome: Part;
      try {
        outcome = await tryOut(name, variant);
      } catch (error) {
        process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
        outcome = { result: 'FAILED', detail: 'see above' };
      }
      const { result, detail } = outcome;
      outcomes.push({ name, ...variant, result, detail });
      process.stdout.write(`${name}, ${variant.type}, ${variant.api}: ${result}: ${detail}\n`);
    }
  }
} finally {
  await browser.close();
  api.stop();
  await server.stop();
}
const count = (result: Outcome['result']) =>
  [...outcomes, ...ofOthers].filter((each) => each.result === result).length;
process.stdout.write(`\n${tableOf(outcomes)}\n`);
process.stdout.write(
  `${count('ran')} ran, ${count('refused')} refused as they must be, ${count('not run')} not run, ${count('FAILED')} failed\n`,
);
const hasFailed = [...outcomes, ...ofOthers].some(({ result }) => result === 'FAILED');
process.exitCode = hasFailed ? 1 : 0;
