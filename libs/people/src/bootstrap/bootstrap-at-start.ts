import { readFile } from 'node:fs/promises';
import { ConfigError } from '@tessera/process';
import type { BootstrapService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, fieldViolations, type CallOptions, type Client } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import { z } from 'zod';

/** The file: a person, with a password or its hash. */
const firstAdministrator = z
  .strictObject({
    username: z.string().default(''),
    email: z.string().default(''),
    name: z.string().default(''),
    password: z.string().default(''),
    passwordHash: z.string().default(''),
  })
  .refine(({ password, passwordHash }) => (password === '') !== (passwordHash === ''), {
    error: 'has either password or passwordHash',
  });

interface Options {
  /** Undefined: make nobody. */
  readonly file: string | undefined;
  readonly bootstrap: Client<typeof BootstrapService>;
  readonly call: CallOptions;
  readonly log: Logger;
}

/**
 * Makes the first administrator of a file, unless there is one. Throws ConfigError for a file that cannot be used; no
 * message has anything of its content but the names of its keys.
 */
export async function bootstrapAtStart({ file, bootstrap, call, log }: Options): Promise<void> {
  if (file === undefined) return;
  try {
    const { username, tenantId } = await bootstrap.createFirstAdministrator(await personIn(file), call);
    log.info({ event: 'bootstrap.done', tenantId, username }, 'the first administrator is made');
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (error.code === Code.InvalidArgument) {
      const mistakes = fieldViolations(error).map(({ field, description }) => `${field} ${description}`);
      throw unusable(mistakes.join('; ') || error.rawMessage);
    }
    if (error.code !== Code.FailedPrecondition) throw error;
    log.info({ event: 'bootstrap.refused', reason: error.rawMessage }, 'no first administrator is made');
  }
}

async function personIn(file: string): Promise<z.infer<typeof firstAdministrator>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unusable(`it cannot be read (${String(error.code)})`);
  });
  const { parse } = await import('yaml');
  let content: unknown;
  try {
    content = parse(text, { logLevel: 'error' });
  } catch {
    throw unusable('it is not YAML');
  }
  const parsed = firstAdministrator.safeParse(content);
  if (parsed.success) return parsed.data;
  throw unusable(parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '));
}

function unusable(why: string): ConfigError {
  return new ConfigError([`TESSERA_BOOTSTRAP_ADMIN_FILE names a file of no use: ${why}.`]);
}
