/** The part of oidc-provider that is used here; the package brings no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Model {
    readonly jti: string;
    /** Resolves with the issued value. */
    save(ttlSeconds?: number): Promise<string>;
  }

  type ModelClass = new (payload: Readonly<Record<string, unknown>>) => Model;

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    on(event: string, listener: (...args: never[]) => void): this;
    readonly Client: { find(clientId: string): Promise<object | undefined> };
    readonly Grant: new (payload: Readonly<Record<string, unknown>>) => Model & {
      addOIDCScope(scope: string): void;
      addResourceScope(resource: string, scope: string): void;
    };
    readonly AccessToken: ModelClass;
    readonly AuthorizationCode: ModelClass;
    readonly RefreshToken: ModelClass;
    readonly DeviceCode: ModelClass;
    readonly Session: ModelClass;
  }
}
