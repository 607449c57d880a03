import { createLogger } from '@tessera/telemetry';
import type { Logger } from '@tessera/telemetry';

/** A log that says nothing. */
export const silentLog = (): Logger => createLogger({ service: 'test', level: 'silent' });
