import { ConfigError } from '@tessera/process';

/** What decides whether demo data may be served. */
export interface DemoExposure {
  readonly TESSERA_DEMO: boolean;
  readonly NODE_ENV?: string | undefined;
  /** Listening address of HTTP; absent where a process has no such listener. */
  readonly TESSERA_HTTP_HOST?: string | undefined;
}

/** Every secret of the demo has it, so that a copy of the file is recognised too. */
const published = 'demo-secret-not-for-production-';

/**
 * Throws ConfigError if a declared state is the demo's, whose passwords and secrets are published, where others than
 * its user could reach it.
 */
export function refuseDemoData(text: string, exposure: DemoExposure): void {
  if (exposure.TESSERA_DEMO || !text.includes(published)) return;
  const reason = reasonAgainst(exposure);
  if (reason === undefined) return;
  throw new ConfigError([
    `The declared state is that of the demo, with published passwords and secrets, and ${reason}. Declare tenants of your own in a file and name it in TESSERA_APPLY_FILE, or set TESSERA_DEMO=yes to try the demo here.`,
  ]);
}

function reasonAgainst({ NODE_ENV, TESSERA_HTTP_HOST: host }: DemoExposure): string | undefined {
  if (NODE_ENV === 'production') return 'NODE_ENV is production';
  if (host !== undefined && !isLoopback(host)) return `TESSERA_HTTP_HOST (${host}) is not a loopback address`;
  return undefined;
}

/** Whether nobody but the user of this machine can connect to a listening address. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
