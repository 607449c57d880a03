/** The part of oidc-provider that is used here; the package brings no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    readonly Session: new (payload: object) => {
      readonly jti: string;
      save(ttlSeconds: number): Promise<string>;
    };
  }
}
