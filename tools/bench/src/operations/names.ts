/** In the order of the table. */
export const operationNames = [
  'client-credentials-json',
  'client-credentials-form',
  'client-credentials-es256',
  'code-exchange',
  'refresh',
  'refresh-openid',
  'introspect-access',
  'introspect-access-cold',
  'introspect-access-cold-es256',
  'introspect-refresh',
  'introspect-call',
  'introspect-call-cold',
  'introspect-batch',
  'userinfo',
  'device-poll',
  'ciba-start',
  'discovery',
  'jwks',
  'sign-in',
  'authorize-session',
] as const;

export type OperationName = (typeof operationNames)[number];
