import type { Command } from 'commander';
import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { environmentHelp, nonEmpty } from '../options.ts';
import { CommandError, type CommandContext } from '../terminal.ts';
import { stacks } from './stacks.ts';

interface Options {
  readonly file: string;
  readonly issuer?: string;
  readonly resource?: string;
}

/** `tessera client-config`. */
export function addClientConfig(program: Command, context: CommandContext): void {
  program
    .command('client-config')
    .description("print a client's shortest working configuration for its library or product")
    .argument('<client>', 'client identifier of a declared application')
    .argument('<stack>', 'its library or product, see below')
    .requiredOption('-f, --file <path>', 'the declared state, as YAML; - reads standard input', nonEmpty)
    .option('--issuer <url>', `issuer of the deployment ${environmentHelp('TESSERA_ISSUER')}`)
    .option(
      '--resource <audience>',
      'API resource whose scopes the configuration has; default: the first one',
    )
    .addHelpText(
      'after',
      `
The configuration goes to standard output, hints to standard error. It never contains the secret: the variable
CLIENT_SECRET does. A tenant's own issuer is used in place of the deployment's. The scopes are the declared ones, those of
one API resource at most. What cannot work is refused, with what to declare.

Stacks:
${stacks.map(({ id, title }) => `  ${id.padEnd(24)}${title}`).join('\n')}`,
    )
    .action(async (clientId: string, stackId: string, options: Options) => {
      const stack = stacks.find(({ id }) => id === stackId);
      if (stack === undefined)
        throw new CommandError(
          `There is no stack ${stackId}. Choose one of: ${stacks.map(({ id }) => id).join(', ')}.`,
          2,
        );
      const { readState } = await import('../operate/records/declare-state.ts');
      const { clientConfig } = await import('./client-config.ts');
      const { tenants } = await readState(options.file, context);
      const { text, hints } = clientConfig({
        tenants,
        clientId,
        stack,
        issuer: await urlOf(options, context),
        audience: options.resource,
      });
      context.out(text);
      for (const hint of hints) context.say(`${hint}\n`);
    });
}

/** Throws CommandError if it is no URL. */
async function urlOf(options: Options, context: CommandContext): Promise<string> {
  const given = await issuerOf(options, context);
  if (/^https?:$/.test(URL.parse(given)?.protocol ?? '')) return given;
  throw new CommandError(
    'The issuer must be a URL such as https://id.example.com. Correct --issuer or TESSERA_ISSUER.',
  );
}
