import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideExecutable } from './executable.ts';
import { freePort, holdProcess } from './held-process.ts';

export interface Nginx {
  /** Where it listens, without a final slash. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A real nginx on loopback.
 * @param http what its `http` block has in addition to the server
 * @param server what its `server` block has
 */
export async function startNginx(http: string, server: string): Promise<Nginx> {
  const command = provideExecutable({
    names: ['nginx'],
    aptPackage: 'nginx-light',
    advice: 'The tests need a real nginx: put nginx on the PATH.',
  });
  const directory = await mkdtemp(join(tmpdir(), 'tessera-nginx-'));
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
access_log off;
${temporary.map((name) => `${name}_temp_path ${name};`).join('\n')}
${http}
server {
listen 127.0.0.1:${port};
${server}
}
}
`,
  );
  const held = holdProcess({ command, args: ['-p', directory, '-c', file], directory, signal: 'TERM' });
  await held.until(() => accepts(port));
  return { url: `http://127.0.0.1:${port}`, stop: () => held.stop() };
}

function accepts(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
