import type { Command } from 'commander';
import { issuerDefault, issuerVariable } from '../at-hand/issuer-at-hand.ts';
import { environmentHelp, nonEmpty, outputOption, tokenFileOption, type Format } from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type { ContextSettings, UseOptions } from './edit-contexts.ts';
import type { LoginOptions } from './log-in.ts';

/** Adds `login`, `logout` and `context`. */
export function addContextCommands(program: Command, context: CommandContext): void {
  withSettings(program.command('login'))
    .description('log in as an administrator, by a code that a browser confirms, or as an application')
    .option('--no-qr', 'do not show a QR code')
    .option('--client-id <id>', 'the application that logs in, in place of a person', nonEmpty)
    .option(
      '--client-secret-file <path>',
      'file with its secret, which is read again for each token',
      nonEmpty,
    )
    .option(...tokenFileOption, nonEmpty)
    .addHelpText(
      'after',
      `
Without options it logs in to the current context again, or beside npm start. With --issuer it makes a context, called as the host of the
issuer unless --context names it. With --tenant it is for that tenant alone; administrators of a tenant at the shared issuer need it, too.
The login is kept in the folder tessera of XDG_CONFIG_HOME (~/.config), for its user alone. It lasts 30 days, and 7 without use.
A pipeline needs no login: it sets TESSERA_API, and TESSERA_ACCESS_TOKEN_FILE, or TESSERA_ISSUER and TESSERA_CLIENT_ASSERTION_FILE (a token
of its platform), or TESSERA_ISSUER, TESSERA_CLIENT_ID and TESSERA_CLIENT_SECRET_FILE; for a certificate of its own TESSERA_API_CA_FILE and TESSERA_API_SERVER_NAME.`,
    )
    .action(async (options: LoginOptions) => {
      const { logIn } = await import('./log-in.ts');
      await logIn(options, context);
    });
  program
    .command('logout')
    .description('end the login of the context, here and at the server')
    .action(async () => {
      const { logOut } = await import('./log-in.ts');
      await logOut(context);
    });
  const group = program.command('context').description('choose the installation that commands work on');
  group
    .command('list')
    .description('list the contexts')
    .addOption(outputOption('table'))
    .action(async (options: { output: Format }) => {
      const { listContexts } = await import('./edit-contexts.ts');
      await listContexts(options, context);
    });
  withSettings(group.command('add'))
    .description('add a context without logging in')
    .argument('<name>', 'its name', nonEmpty)
    .action(async (name: string, options: ContextSettings) => {
      const { addContext } = await import('./edit-contexts.ts');
      await addContext(name, options, context);
    });
  group
    .command('use')
    .description('make a context current; local is the process whose data directory is at hand')
    .argument('<name>', 'the context', nonEmpty)
    .option('--tenant <id>', 'from now on the tenant of its commands that name none', nonEmpty)
    .option('--no-tenant', 'from now on they have to name it')
    .action(async (name: string, options: UseOptions) => {
      const { useContext } = await import('./edit-contexts.ts');
      await useContext(name, options, context);
    });
  group
    .command('remove')
    .description('forget a context')
    .argument('<name>', 'the context', nonEmpty)
    .action(async (name: string) => {
      const { removeContext } = await import('./edit-contexts.ts');
      await removeContext(name, context);
    });
}

function withSettings(command: Command): Command {
  return command
    .option(
      '--api <url>',
      'where administration is served (default: of npm start, or http://127.0.0.1:9002)',
      nonEmpty,
    )
    .option(
      '--issuer <url>',
      `where administrators sign in ${environmentHelp(issuerVariable)} (${issuerDefault})`,
      nonEmpty,
    )
    .option(
      '--tenant <id>',
      'the tenant to administer, at its own issuer or at the shared one; default: the operator tenant',
      nonEmpty,
    )
    .option('--ca-file <path>', "authority of the API's certificate, as PEM", nonEmpty)
    .option(
      '--server-name <name>',
      'name in that certificate, if the API is reached by another one',
      nonEmpty,
    );
}
