import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { declaredState } from '../../harness/declared-state.ts';
import { copyEmbeddedDatabase, freePort } from '@tessera/test-kit/provision';
import type { Environment } from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

describe('a start', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
    await copyEmbeddedDatabase(join(directory, 'data/database'));
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  /** The output of a process that must end by itself with an error. */
  async function refused(environment: Environment): Promise<string> {
    const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
    server.start({
      TESSERA_HTTP_PORT: String(await freePort()),
      TESSERA_MANAGEMENT_PORT: String(await freePort()),
      TESSERA_DATA_DIR: join(directory, 'data'),
      ...environment,
    });
    try {
      expect(await server.ended()).not.toBe(0);
      return server.output;
    } finally {
      await server.kill();
    }
  }

  it('with demo data is refused in production', async () => {
    expect(await refused({ NODE_ENV: 'production' })).toMatch(/NODE_ENV is production.*TESSERA_DEMO=yes/);
  });

  it('with a common password in the declared state is refused, without printing it', async () => {
    const password = 'iloveyou';
    const file = join(directory, 'state.yaml');
    await writeFile(file, declaredState().replace(/passwordHash: \S+/, `password: ${password}`));
    const output = await refused({ TESSERA_APPLY_FILE: file });
    expect(output).toContain('users[0].password: is one of the most common passwords');
    expect(output).not.toContain(password);
  });
});
