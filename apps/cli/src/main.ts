#!/usr/bin/env node
/**
 * `tessera`, the operators' command.
 *
 *     arguments ─> run ─┬─> operate/ ─┬─> the administration API, or directory and keys over gRPC (TESSERA_PEERS)
 *                       │             └─> with --direct their code, on DATABASE_URL
 *                       ├─> flow/, oauth/ ──> HTTP of a running server
 *                       └─> client-config/   prints files, calls nothing
 */
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './run.ts';
import { waitingLine } from './waiting-line.ts';

const now = () => Date.now();
const line = waitingLine(process.stderr, now);
const writing = (stream: NodeJS.WriteStream) => (text: string) => {
  line.clear();
  stream.write(text);
};

// A reader may close the output early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  out: writing(process.stdout),
  say: writing(process.stderr),
  input: async () => textOf(process.stdin),
  fetch,
  sleep: async (milliseconds) => sleep(milliseconds),
  now,
  waiting: (what) => line.waiting(what),
});
// A shell waits for the end of the process, whatever the process still waits for.
if (process.argv[2] === 'complete') process.exit(exitCode);
process.exitCode = exitCode;
