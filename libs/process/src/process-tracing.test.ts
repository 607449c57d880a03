import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '@tessera/test-kit/provision';
import { describe, expect, it, onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('./testing/sample-process.ts', import.meta.url));

/** Prints the address of every module that is loaded. */
const tellModules = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from 'node:module';
   registerHooks({ load(url, context, next) { process.stderr.write('loaded ' + url + '\\n'); return next(url, context); } });`,
)}`;

/** Runs the sample process until it is stopped; resolves with its output. */
async function run(
  environment: Record<string, string>,
): Promise<{ out: string; err: string; code: number | null }> {
  const child = spawn(process.execPath, ['--import', tellModules, program], {
    env: { ...bareEnvironment(), SAMPLE: 'serve', ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  await expect.poll(() => out).toContain('"event":"server.started"');
  const port = /"port":(\d+)/.exec(out)?.[1];
  await fetch(`http://127.0.0.1:${port}/`);
  child.kill('SIGTERM');
  return { code: await ended, out, err };
}

async function collector(): Promise<{ endpoint: string; bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

/** Loaded modules of OpenTelemetry: names of packages. */
const openTelemetryOf = (err: string): string[] => [
  ...new Set([...err.matchAll(/^loaded .*\/@opentelemetry\/([\w-]+)\//gm)].map(([, name = '']) => name)),
];

describe('a process', () => {
  it('without traces, which is the default, loads nothing of OpenTelemetry', async () => {
    const { code, err, out } = await run({});
    expect(code).toBe(0);
    expect(openTelemetryOf(err)).toEqual([]);
    expect(err).not.toContain('/traces/start-traces.ts');
    expect(out).not.toContain('trace_id');
  });

  it('with traces writes lines of the log that name them, and sends the last ones when it stops', async () => {
    const { endpoint, bodies } = await collector();
    const { code, err, out } = await run({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    });
    expect(code).toBe(0);
    expect(openTelemetryOf(err)).toContain('sdk-trace-node');
    const [, traceId = ''] = /"trace_id":"([0-9a-f]{32})".*"message":"served"/.exec(out) ?? [];
    expect(traceId).not.toBe('');
    expect(out).not.toMatch(/trace_id.*"message":"(started|stopped)"/);
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).toContain(`"traceId":"${traceId}"`);
    expect(bodies[0]).toContain('{"key":"service.name","value":{"stringValue":"tessera-sample"}}');
  });
});
