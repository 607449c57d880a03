import { findStoredSecrets, type StoredSecrets } from '@tessera/directory/stored-secrets';
import { Secret } from '@tessera/kit';
import { CommandError, type Terminal } from '../../terminal.ts';
import { processes } from '../../processes.ts';
import { orExplain, settings, type Environment } from '../../settings.ts';
import { reasonOf, withDatabase } from './with-database.ts';

/** Settings that are secrets of clients: of the console, and of the command line. */
const ofClients = ['TESSERA_CONSOLE_SECRET', 'TESSERA_CLIENT_SECRET'];

interface Found {
  readonly kind: 'client secret' | 'provider secret' | 'setting';
  /** Whose it is, or how the setting is called. */
  readonly name: string;
}

/**
 * Prints the name of every secret that a process and its database have, never a value: secrets of applications and of
 * providers, and settings. Throws CommandError if one is a client's: a token of the platform can take its place.
 */
export async function listSecretsLeft(process: string, terminal: Terminal): Promise<void> {
  const known = processes[process];
  if (known === undefined)
    throw new CommandError(`${process} is no process of Tessera: ${Object.keys(processes).join(', ')}.`);
  const isInDatabase = known.schemas.some(({ schema }) => schema === 'directory');
  const stored = isInDatabase ? await storedSecrets(terminal) : { applications: [], providers: [] };
  const found: readonly Found[] = [
    ...stored.applications.map(({ tenantId, name }) => kindOf('client secret', `${tenantId}: ${name}`)),
    ...settingsAmong(known.config, terminal.environment),
    ...stored.providers.map(({ tenantId, name }) => kindOf('provider secret', `${tenantId}: ${name}`)),
  ];
  const isClients = ({ kind }: Found) => kind === 'client secret';
  const sorted = [...found.filter(isClients), ...found.filter((each) => !isClients(each))];
  terminal.out(sorted.map(({ kind, name }) => `${kind.padEnd(16)} ${name}\n`).join(''));
  if (!isInDatabase)
    terminal.say(
      `Secrets of applications and providers are those of the process directory: --process directory.\n`,
    );
  const left = found.filter(isClients).length;
  if (left > 0)
    throw new CommandError(
      `${left} client ${left === 1 ? 'secret is' : 'secrets are'} left. Let these applications trust a token of their platform (\`trusts\`), ` +
        'and delete the secrets: tessera secret delete.',
    );
  terminal.say('No client secret is left.\n');
}

const kindOf = (kind: Found['kind'], name: string): Found => ({ kind, name });

async function storedSecrets(terminal: Terminal): Promise<StoredSecrets> {
  return withDatabase(terminal, async (database) =>
    findStoredSecrets(database).catch((error: unknown) => {
      throw new CommandError(`The secrets in the database cannot be listed: ${reasonOf(error)}`);
    }),
  );
}

/** The settings that a process reads as secrets, and those of the command line. */
function settingsAmong(
  config: (typeof processes)[string]['config'],
  environment: Environment,
): readonly Found[] {
  const read = Object.entries(orExplain(() => settings(config, environment)));
  const names = read.filter(([, value]) => value instanceof Secret).map(([name]) => name);
  const given = ofClients.filter((name) => environment[name] || environment[`${name}_FILE`]);
  return [...new Set([...names, ...given])].map((name) =>
    kindOf(ofClients.includes(name) ? 'client secret' : 'setting', name),
  );
}
