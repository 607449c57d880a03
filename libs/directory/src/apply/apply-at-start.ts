import { Code, ConnectError } from '@tessera/rpc';
import { choices, ConfigError, flag, type Lifecycle } from '@tessera/process';
import { type Logger } from '@tessera/telemetry';
import { z } from 'zod';
import { takenElsewhere } from '../resources/checks.ts';
import { refuseDemoData, type DemoExposure } from './demo-data.ts';
import type { ApplyFileOptions } from './apply-file.ts';

/** Settings of a process that applies declared state itself. */
export const applyConfig = z.object({
  /** Declared state as YAML, applied at the start and again at SIGHUP. */
  TESSERA_APPLY_FILE: z.string().optional(),
  /**
   * What else TESSERA_APPLY_FILE may do; otherwise such a file is not applied. `delete`: leave out people and
   * applications, which are deleted then; `administration`: give built-in roles and scopes of the administration.
   */
  TESSERA_APPLY_ALLOW: choices(['delete', 'administration']),
  /** The first administrator as YAML, made at the start unless there is one. */
  TESSERA_BOOTSTRAP_ADMIN_FILE: z.string().optional(),
  /** Allows demo data where `NODE_ENV` is `production` or the listener is not on loopback. */
  TESSERA_DEMO: flag(false),
});

/** What the settings allow a file to do. */
export function allowedByConfig(
  config: z.infer<typeof applyConfig>,
): Pick<ApplyAtStartOptions, 'allowDelete' | 'allowAdministration'> {
  const { TESSERA_APPLY_ALLOW: allowed } = config;
  return {
    allowDelete: allowed.includes('delete'),
    allowAdministration: allowed.includes('administration'),
  };
}

export interface ApplyAtStartOptions extends Omit<ApplyFileOptions, 'call'> {
  /** Undefined: apply nothing. */
  readonly file: string | undefined;
  /** Whether the file may delete people and applications by leaving them out. */
  readonly allowDelete: boolean;
  /** Whether the file may give powers over the administration. */
  readonly allowAdministration: boolean;
  readonly exposure: DemoExposure;
  readonly call: () => ApplyFileOptions['call'];
  readonly log: Logger;
  readonly lifecycle: Pick<Lifecycle, 'onReload'>;
  /** Data directory of embedded stores; undefined with a database. */
  readonly dataDirectory?: string | undefined;
}

/**
 * Applies the declared state of a file now and at every reload of the process. An error in the file fails the start; at
 * a reload it is logged and the applied state stays. Deletions and powers that are not allowed, and conflicts with
 * records of others, are logged both times and the applied state stays, so that a replica of a rolling upgrade serves
 * in any case, and no administrator of a tenant keeps processes from starting. Throws ConfigError if the
 * file cannot be read or is refused demo data, Error with every error in it, by file, line and key.
 */
export async function applyAtStart(options: ApplyAtStartOptions): Promise<void> {
  const { file, exposure, call, log, lifecycle, dataDirectory, ...rest } = options;
  if (file === undefined) return;
  const { applyFile } = await import('./apply-file.ts');
  const apply = async (): Promise<void> => {
    const check = (text: string): void => refuseDemoData(text, exposure);
    const applied = await applyFile(file, { ...rest, check, call: call() }).catch((error: unknown) => {
      if (!(error instanceof ConnectError) || error.code !== Code.FailedPrecondition)
        throw forPeople(error, dataDirectory);
      const reason = withAdvice(error.rawMessage, dataDirectory);
      log.error({ event: 'apply.refused', file, reason }, 'declared state not applied');
    });
    if (applied === undefined) return;
    const { tenants } = applied;
    log.info({ file, tenants: tenants.map(summary) }, 'declared state applied');
  };
  await apply();
  lifecycle.onReload(apply);
}

/** The error that a person can fix, without the context of the call. */
function forPeople(error: unknown, dataDirectory: string | undefined): unknown {
  if (error instanceof ConnectError && error.code === Code.InvalidArgument) {
    return new Error(withAdvice(error.rawMessage, dataDirectory), { cause: error });
  }
  if (error instanceof Error && 'syscall' in error && 'code' in error)
    return new ConfigError([
      `TESSERA_APPLY_FILE names a file that cannot be read (${String(error.code)}). Correct the path or its permissions.`,
    ]);
  return error;
}

/** Another tenant that has a value may be one of an earlier file, kept in the data directory. */
function withAdvice(reason: string, dataDirectory: string | undefined): string {
  if (dataDirectory === undefined || !reason.includes(takenElsewhere)) return reason;
  return `${reason}\n${dataDirectory} (TESSERA_DATA_DIR) still holds the tenants that were applied there before. Choose another directory, or remove this one with all that it holds.`;
}

function summary(tenant: {
  readonly tenantId: string;
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}): string {
  const { tenantId, created, updated, deleted } = tenant;
  return `${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted`;
}
