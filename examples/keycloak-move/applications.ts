/** Four applications that were made for Keycloak, below `test-output`. They start once and never learn of a move. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers } from '../harness/tessera.ts';
import { secrets } from './realm.ts';

const folder = join(import.meta.dirname, '../../test-output/examples/keycloak-move');
const proxyModule = 'github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6';
/** Far more than they need, as a busy machine is slow. */
const patience = 900_000;

/** Where each of them is. */
export const addresses = {
  spring: 'http://localhost:19501',
  spa: 'http://localhost:19502',
  proxy: 'http://localhost:19503',
  api: 'http://localhost:19504',
} as const;

/** Whether the tools are on the PATH. */
export function hasTools(): boolean {
  return ['java', 'mvn', 'go', 'python3', 'npm'].every(
    (tool) => spawnSync('/bin/sh', ['-c', `command -v ${tool}`]).status === 0,
  );
}

/** Downloads and builds them; what is there already stays. */
export function installApplications(): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['spring-boot', 'keycloak-js', 'oauth2-proxy', 'python-api'])
    cpSync(join(import.meta.dirname, name), join(folder, name), { recursive: true });
  cpSync(join(import.meta.dirname, '../spring-boot/pom.xml'), join(folder, 'spring-boot/pom.xml'));
  const shell = (name: string, command: string) =>
    execFileSync('/bin/sh', ['-c', command], {
      cwd: join(folder, name),
      env: { ...process.env, GOBIN: join(folder, 'oauth2-proxy') },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  shell('spring-boot', 'mvn -q -B package');
  shell('keycloak-js', 'npm install --no-audit --no-fund --no-package-lock --silent');
  shell('oauth2-proxy', `test -x oauth2-proxy || go install ${proxyModule}`);
  shell('python-api', 'test -d .venv || python3 -m venv .venv; .venv/bin/pip install -q -r requirements.txt');
}

/** Running applications. */
export interface Applications {
  /** The end of what they have said so far. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts them. Their server must answer, as some ask for its metadata now and never again. */
export async function startApplications(): Promise<Applications> {
  const said: string[] = [];
  const programs = [
    start(said, 'spring-boot', 'exec java -jar target/example.jar', { SPRING_SECRET: secrets.spring }),
    start(said, 'oauth2-proxy', 'exec ./oauth2-proxy --config=oauth2-proxy.cfg', {
      OAUTH2_PROXY_CLIENT_SECRET: secrets.proxy,
      OAUTH2_PROXY_COOKIE_SECRET: 'cookie-secret-for-the-examples--',
    }),
    start(said, 'python-api', 'exec .venv/bin/python app.py', {}),
  ];
  const page = await servePage();
  const output = () => said.join('').slice(-6000);
  const stop = async () => {
    page.closeAllConnections();
    page.close();
    await Promise.all(programs.map(async (each) => each.stop()));
  };
  const until = Date.now() + patience;
  for (const address of Object.values(addresses))
    while (!(await answers(address))) {
      if (Date.now() > until || programs.some(({ hasEnded }) => hasEnded())) {
        await stop();
        throw new Error(`${address} does not answer.\n${output()}`);
      }
      await sleep(200);
    }
  return { output, stop };
}

function start(said: string[], name: string, command: string, variables: Record<string, string>) {
  const program = spawn('/bin/sh', ['-c', command], {
    cwd: join(folder, name),
    env: { ...process.env, ...variables },
  });
  for (const stream of [program.stdout, program.stderr])
    stream.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const ended = new Promise<void>((resolve) => program.once('exit', () => resolve()));
  return {
    hasEnded: () => program.exitCode !== null,
    async stop() {
      program.kill();
      await ended;
    },
  };
}

/** The page and the library, as a server of files has them. */
async function servePage() {
  const files: Readonly<Record<string, readonly [path: string, type: string]>> = {
    '/app.js': ['app.js', 'text/javascript'],
    '/keycloak.js': ['node_modules/keycloak-js/lib/keycloak.js', 'text/javascript'],
  };
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const [file, type] = files[path] ?? ['index.html', 'text/html'];
    void readFile(join(folder, 'keycloak-js', file)).then(
      (content) => response.writeHead(200, { 'content-type': type }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(Number(new URL(addresses.spa).port), '127.0.0.1');
  await once(server, 'listening');
  return server;
}
