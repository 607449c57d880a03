import { fromJson, toJson, type DescMethod, type DescService, type JsonObject } from '@bufbuild/protobuf';
import { adminServices } from '@tessera/proto-gen/admin-all';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, declaredAccess, type CallOptions } from '@tessera/rpc';
import type { ClientOf } from '../records/with-service.ts';

/** All that the administration API serves. */
export const administeredServices: readonly DescService[] = [
  ...Object.values(adminServices),
  DirectoryService,
];

/** The methods that administrators call, by names such as `UsersService.Get`. */
export const administeredMethods: ReadonlyMap<string, DescMethod> = new Map(
  administeredServices.flatMap(({ name: service, methods }) =>
    methods
      .filter((method) => declaredAccess(method).scopes.length > 0)
      .map((method) => [`${service}.${method.name}`, method] as const),
  ),
);

/** Calls of the administration API by the names of methods. */
export interface Administration {
  /**
   * As who runs the command. Throws ConnectError.
   * @param unless `absent`: resolves with undefined for what is not there
   */
  call(method: string, request: JsonObject): Promise<JsonObject>;
  call(method: string, request: JsonObject, unless: 'absent'): Promise<JsonObject | undefined>;
  /** With an access token, if one is given. */
  attempt(method: string, request: JsonObject, accessToken?: string): Promise<JsonObject>;
}

export function administrationOf(clientOf: ClientOf, options: CallOptions): Administration {
  async function attempt(name: string, request: JsonObject, accessToken?: string): Promise<JsonObject> {
    const method = administeredMethods.get(name);
    if (method === undefined) throw new Error(`there is no ${name}`);
    const client = clientOf(method.parent) as Readonly<
      Record<string, (message: unknown, call: CallOptions) => Promise<never>>
    >;
    const headers = {
      ...(options.headers as object),
      ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
    };
    const answer = await client[method.localName]?.(fromJson(method.input, request), { ...options, headers });
    return toJson(method.output, answer as never) as JsonObject;
  }
  async function call(name: string, request: JsonObject, unless?: 'absent'): Promise<JsonObject | undefined> {
    return attempt(name, request).catch((error: unknown) => {
      if (unless !== undefined && error instanceof ConnectError && error.code === Code.NotFound)
        return undefined;
      throw error;
    });
  }
  return { attempt, call: call as Administration['call'] };
}
