import {
  allowPrivateSetting,
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
    /** In place of the secret: a file with a token of the platform, read for each sign-in. */
    TESSERA_CONSOLE_TOKEN_FILE: z.string().min(1).optional(),
    TESSERA_ISSUER: issuerSetting,
    TESSERA_OPERATOR_TENANT: operatorTenantSetting,
    TESSERA_MESSAGES_DIR: messagesDirSetting,
    TESSERA_ALLOW_PRIVATE: allowPrivateSetting,
  })
  .refine(
    ({ TESSERA_CONSOLE_URL: url, TESSERA_CONSOLE_SECRET: secret, TESSERA_CONSOLE_TOKEN_FILE: file }) =>
      url === undefined || (secret ?? file) !== undefined,
    {
      error: 'is required with TESSERA_CONSOLE_URL, or TESSERA_CONSOLE_TOKEN_FILE',
      path: ['TESSERA_CONSOLE_SECRET'],
    },
  );

export type ConsoleConfig = z.infer<typeof consoleConfig>;
