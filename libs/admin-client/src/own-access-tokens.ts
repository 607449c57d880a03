import {
  clientCredentials as accessTokens,
  type AccessTokenSource,
  type ClientCredentialsOptions,
} from '@tessera/introspection-client/access-token-source';

export type AdminCredentials = ClientCredentialsOptions & {
  /** Such as `admin.users.read admin.users.write`: those that the calls need, which the application declares. */
  readonly scope: string;
};

/** Access tokens of an application (RFC 6749 §4.4), fetched when they are first needed and again before they expire. */
export function clientCredentials(options: AdminCredentials): AccessTokenSource {
  return accessTokens(options);
}
