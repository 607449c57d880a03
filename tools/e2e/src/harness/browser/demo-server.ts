import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@tessera/test-client';
import { copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import { PatientProcess } from '../patient-process.ts';

/** What `npm start` serves, at a free port of localhost, where browsers have passkeys without TLS. */
export interface DemoServer {
  readonly baseUrl: string;
  /** What the process has printed. */
  readonly output: string;
  /**
   * Calls a service of the administration as the command line does, for the tenant `demo` if the request names none.
   * Throws unless it is answered with 200.
   */
  call(method: string, request: object, service?: string): Promise<Record<string, string>>;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts it with stores of its own, and `environment` besides. Resolves when it is ready. */
export async function startDemoServer(environment: Environment = {}): Promise<DemoServer> {
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  const directory = await mkdtemp(join(tmpdir(), 'tessera-demo-server-'));
  await copyEmbeddedDatabase(join(directory, 'database'));
  const port = String(await freePort());
  const baseUrl = `http://localhost:${port}`;
  server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: port, ...environment });
  await eventually('it serves', async () => (await fetch(`${baseUrl}/readyz`)).ok);
  return {
    baseUrl,
    get output() {
      return server.output;
    },

    async call(method, request, service = 'UsersService') {
      const announced = await readFile(join(directory, 'administration.json'), 'utf8');
      const { target, token } = JSON.parse(announced) as { target: string; token: string };
      const answer = await fetch(`http://${target}/tessera.admin.v1.${service}/${method}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'x-tessera-caller': 'operator',
        },
        body: JSON.stringify({ tenantId: 'demo', ...request }),
      });
      if (answer.status !== 200) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Record<string, string>;
    },

    signal: (signal) => server.signal(signal),

    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
