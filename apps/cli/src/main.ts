#!/usr/bin/env node
/**
 * `tessera`, the operators' command.
 *
 *     arguments ─> run ─┬─> operate/ ─┬─> directory, keys over gRPC (TESSERA_PEERS)
 *                       │             └─> or their code, on DATABASE_URL
 *                       ├─> flow/, oauth/ ──> HTTP of a running server
 *                       └─> client-config/   prints files, calls nothing
 */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  out: (line) => process.stdout.write(line),
  say: (line) => process.stderr.write(line),
  input: async () => text(process.stdin),
  fetch,
  sleep: async (milliseconds) => sleep(milliseconds),
  now: () => Date.now(),
});
