import type { Command } from 'commander';
import { defaultIssuer } from '../flow/options.ts';
import { environmentHelp, nonEmpty, orEnvironment } from '../options.ts';
import { CommandError, type CommandContext } from '../terminal.ts';
import { stacks } from './stacks.ts';

interface Options {
  readonly file: string;
  readonly issuer?: string;
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
    .addHelpText(
      'after',
      `
The configuration goes to standard output, hints to standard error. It never contains the secret: the variable
CLIENT_SECRET does. Without --issuer, the issuer is the tenant's own if it has one.

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
      const { readState } = await import('../operate/apply.ts');
      const { clientConfig } = await import('./client-config.ts');
      const { tenants } = await readState(options.file, context);
      const { text, hints } = clientConfig({
        tenants,
        clientId,
        stack,
        issuer: options.issuer,
        sharedIssuer: orEnvironment(undefined, 'TESSERA_ISSUER', context) || defaultIssuer,
      });
      context.out(text);
      for (const hint of hints) context.say(`${hint}\n`);
    });
}
