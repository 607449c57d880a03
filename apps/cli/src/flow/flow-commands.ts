import type { Command } from 'commander';
import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { nonEmpty, port } from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type { CibaOptions } from './ciba.ts';
import type { DeviceOptions } from './device.ts';
import { addFlowOptions, requiredClient } from './flow-options.ts';

/** The flows that need no browser on this machine. */
export function addFlowCommands(program: Command, context: CommandContext): void {
  const flow = program.command('flow').description('get tokens by a flow');
  addFlowOptions(flow.command('device'))
    .description('get tokens by the device flow: show a code and a QR code, wait for the approval')
    .option('--no-qr', 'do not show a QR code')
    .action(async (options: DeviceOptions, command: Command) => {
      const client = requiredClient(options, command, context);
      const { runDeviceFlow } = await import('./device.ts');
      await runDeviceFlow(await issuerOf(options, context), client, options, context);
    });
  addFlowOptions(flow.command('ciba'))
    .description('get tokens by CIBA: ask a person who is elsewhere, wait for the approval')
    .requiredOption(
      '--login-hint <hint>',
      'user name, e-mail address or phone number of the person',
      nonEmpty,
    )
    .option('--binding-message <text>', 'text that the person sees in both places')
    .option('--requested-expiry <seconds>', 'seconds after which to give up')
    .option(
      '--listen <port>',
      'port of 127.0.0.1 to be notified at, for an application with ping whose notificationEndpoint leads there',
      port,
    )
    .action(async (options: CibaOptions, command: Command) => {
      const client = requiredClient(options, command, context);
      const { runCibaFlow } = await import('./ciba.ts');
      await runCibaFlow(await issuerOf(options, context), client, options, context);
    });
}
