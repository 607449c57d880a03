import { createLogger } from '@tessera/kit';
import type { Logger } from '@tessera/kit';

/** A log that says nothing. */
export const silentLog = (): Logger => createLogger({ service: 'test', level: 'silent' });
