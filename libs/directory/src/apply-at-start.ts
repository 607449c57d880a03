import { optionalText, type Lifecycle, type Logger } from '@tessera/kit';
import { z } from 'zod';
import { applyFile, type ApplyFileOptions } from './apply-file.ts';

/** Settings of a process that applies declared state by itself. */
export const applyConfig = z.object({
  /** Declared state as YAML: applied at the start, and again at SIGHUP. */
  TESSERA_APPLY_FILE: optionalText(),
});

export interface ApplyAtStartOptions extends Omit<ApplyFileOptions, 'call'> {
  /** Undefined: nothing is applied. */
  readonly file: string | undefined;
  readonly call: () => ApplyFileOptions['call'];
  readonly log: Logger;
  readonly lifecycle: Pick<Lifecycle, 'onReload'>;
}

/**
 * Applies the declared state of a file now, and again whenever the process is asked to reload. A mistake in the file
 * fails the start; at a reload it is logged and what was applied before stays.
 */
export async function applyAtStart(options: ApplyAtStartOptions): Promise<void> {
  const { file, call, log, lifecycle, ...rest } = options;
  if (file === undefined) return;
  const apply = async (): Promise<void> => {
    const { tenants } = await applyFile(file, { ...rest, call: call() });
    log.info({ file, tenants: tenants.map(summary) }, 'declared state applied');
  };
  await apply();
  lifecycle.onReload(apply);
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
