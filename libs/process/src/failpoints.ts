import { ConfigError } from './config/load-config.ts';

/**
 * Named points at which a crash test ends the process: with TESSERA_FAILPOINT=<name> it is killed, as by a power cut,
 * the first time it gets there. Without the setting they do nothing.
 * @throws ConfigError in production.
 */
export function failpoints(environment: {
  readonly TESSERA_FAILPOINT?: string | undefined;
  readonly NODE_ENV?: string | undefined;
}): (name: string) => void {
  const chosen = environment.TESSERA_FAILPOINT;
  if (chosen === undefined || chosen === '') return () => undefined;
  if (environment.NODE_ENV === 'production') {
    throw new ConfigError([
      'TESSERA_FAILPOINT is for tests and refused where NODE_ENV is production. Remove it.',
    ]);
  }
  return (name) => {
    if (name === chosen) process.kill(process.pid, 'SIGKILL');
  };
}
