#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  say: (text) => process.stderr.write(text),
  fetch,
  sleep: async (milliseconds) => sleep(milliseconds),
  now: () => Date.now(),
});
