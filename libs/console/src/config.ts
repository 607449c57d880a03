import {
  consoleSecretSetting,
  consoleUrlSetting,
  issuerSetting,
  messagesDirSetting,
  operatorTenantSetting,
} from '@tessera/process';
import { z } from 'zod';

export const consoleConfig = z
  .object({
    /** Where administrators reach it, an origin; absent: there is no console. */
    TESSERA_CONSOLE_URL: consoleUrlSetting,
    TESSERA_CONSOLE_SECRET: consoleSecretSetting,
    TESSERA_ISSUER: issuerSetting,
    TESSERA_OPERATOR_TENANT: operatorTenantSetting,
    TESSERA_MESSAGES_DIR: messagesDirSetting,
  })
  .refine(
    (config) => config.TESSERA_CONSOLE_URL === undefined || config.TESSERA_CONSOLE_SECRET !== undefined,
    {
      error: 'is required with TESSERA_CONSOLE_URL',
      path: ['TESSERA_CONSOLE_SECRET'],
    },
  );

export type ConsoleConfig = z.infer<typeof consoleConfig>;
