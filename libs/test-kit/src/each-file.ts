/** Vitest runs this before each test file, also where files share their modules. */
import { afterAll } from 'vitest';
import { metrics } from '@tessera/telemetry';
import { cleanUp } from './cleanup.ts';

// Before any service is built, as in a process with `/metrics`.
await metrics.open();

// Registered before the file's own hooks and, hooks ending in reverse order, run after they have stopped what still
// uses the stores.
afterAll(cleanUp);
