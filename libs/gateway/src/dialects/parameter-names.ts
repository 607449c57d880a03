import { clientParameters } from '@tessera/oauth';

/**
 * The parameters that body endpoints read, by their names inside. The contract calls a parameter as we do; its standard
 * name is the snake_case of that.
 */
const inBoth = [
  ...clientParameters,
  'assertion',
  'authReqId',
  'code',
  'codeVerifier',
  'decision',
  'deviceCode',
  'grantType',
  'redirectUri',
  'refreshToken',
  'resource',
  'scope',
  'token',
] as const;
const inContract = [...inBoth, 'reasonRevoked'] as const;
const inStandard = [
  ...inBoth,
  'bindingMessage',
  'clientNotificationToken',
  'idTokenHint',
  'loginHint',
  'loginHintToken',
  'logoutToken',
  'requestedExpiry',
] as const;

export type Field = (typeof inContract)[number] | (typeof inStandard)[number];

/** Names on the wire by those inside; a field without one does not exist in the dialect. */
export type ParameterNames = ReadonlyMap<Field, string>;

export const contractNames: ParameterNames = new Map(inContract.map((field) => [field, field]));
export const standardNames: ParameterNames = new Map(inStandard.map((field) => [field, standardName(field)]));

/** The RFCs' name of what the contract calls `name`: `refresh_token` for `refreshToken`. */
export function standardName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
