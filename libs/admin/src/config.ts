import { issuerSetting, operatorTenantSetting, optionalPort } from '@tessera/process';
import { z } from 'zod';

/** The listener for administrators and their scripts, apart from the one for internal calls. */
export const adminConfig = z.object({
  TESSERA_ADMIN_HOST: z.string().prefault('127.0.0.1'),
  /** Absent: there is no such listener. */
  TESSERA_ADMIN_PORT: optionalPort(),
  TESSERA_OPERATOR_TENANT: operatorTenantSetting,
  /** The shared issuer: of the operator tenant's tokens, unless it has one of its own. */
  TESSERA_ISSUER: issuerSetting,
});

export type AdminConfig = z.infer<typeof adminConfig>;
