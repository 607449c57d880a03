/** The client the command acts as. */
export interface OAuthClient {
  /** Empty if only its token says who it is. */
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret: string | undefined;
  /** A token of its platform that proves who it is, in place of a secret; asked for before each request. */
  readonly assertion?: (() => string) | undefined;
}

/** What messages call a client. */
export function nameOf({ clientId }: Pick<OAuthClient, 'clientId'>): string {
  return clientId === '' ? 'that the token proves to be' : clientId;
}
