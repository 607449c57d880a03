import type { z } from 'zod';
import { authorizeConfig } from '@tessera/authorize';
import { deviceConfig } from '@tessera/device';
import { applyConfig, directoryConfig } from '@tessera/directory';
import { gatewayConfig } from '@tessera/gateway';
import { keysConfig } from '@tessera/keys';
import { combine, processConfig, rpcConfig } from '@tessera/kit';
import { tokenConfig } from '@tessera/token';
import { standaloneConfig } from '../apps/standalone/src/config.ts';

/** What each process of the image reads, as its `main.ts` puts it together. */
const settings: Readonly<Record<string, z.ZodObject>> = {
  standalone: standaloneConfig,
  gateway: combine(processConfig, rpcConfig, gatewayConfig),
  authorize: combine(processConfig, rpcConfig, authorizeConfig),
  token: combine(processConfig, rpcConfig, tokenConfig),
  device: combine(processConfig, rpcConfig, deviceConfig),
  keys: combine(processConfig, rpcConfig, keysConfig),
  directory: combine(processConfig, rpcConfig, directoryConfig, applyConfig),
};

export function settingsOf(process: string): z.ZodObject {
  const found = settings[process];
  if (found === undefined) throw new Error(`${process} is no process of the image.`);
  return found;
}
