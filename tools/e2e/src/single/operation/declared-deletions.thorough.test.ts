import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import type { Environment } from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const state = (users: string) => `tenants: [{ id: acme, name: Acme, users: [${users}] }]\n`;
const [ada, bob] = ['{ username: ada }', '{ username: bob }'];

it('a start and a reload with a file that leaves out a person keep the person and serve, until deletions are allowed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const file = join(directory, 'state.yaml');
  const port = await freePort();
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  let shown = 0;
  /** Waits for text in what the server has printed since the last text. */
  const says = async (text: string) =>
    eventually(text, async () => {
      const at = server.output.indexOf(text, shown);
      if (at >= 0) shown = at + text.length;
      return at >= 0;
    });
  const start = (more: Environment = {}) =>
    server.start({
      TESSERA_HTTP_PORT: String(port),
      TESSERA_DATA_DIR: join(directory, 'data'),
      TESSERA_APPLY_FILE: file,
      ...more,
    });
  const isReady = async () =>
    eventually('ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
  const refused = `leaves out records, and applying it would delete them:\\nacme: user bob\\n`;

  await copyEmbeddedDatabase(join(directory, 'data/database'));
  await writeFile(file, state(`${ada}, ${bob}`));
  start();
  await says('serving HTTP');
  await server.stop();

  await writeFile(file, state(ada));
  start();
  await says(refused);
  await says('serving HTTP');
  await isReady();
  server.signal('SIGHUP');
  await says('reload requested');
  await says(refused);
  await isReady();
  await server.stop();

  start({ TESSERA_APPLY_ALLOW: 'delete' });
  await says('acme: 0 created, 0 updated, 1 deleted');
  await says('serving HTTP');
});
