import type { Command } from './command.ts';
import { flowCiba } from './flow/ciba.ts';
import { flowDevice } from './flow/device.ts';
import { webhookKey } from './webhook-key.ts';
import { operating } from './operate/commands.ts';

/** Every command there is. A new one is a file and a row. */
export const commands: readonly Command[] = [flowDevice, flowCiba, webhookKey, ...operating];
