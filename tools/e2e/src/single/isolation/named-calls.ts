import { getOption, type DescMethod, type JsonObject } from '@bufbuild/protobuf';
import { access } from '@tessera/proto-gen/access';
import { Code } from '@tessera/rpc';
import { servedMethods, type RpcAnswer, type RpcCalls } from '../../harness/rpc-calls.ts';

/** Calls methods by their names, as the first process that may. */
export class NamedCalls {
  readonly #calls: RpcCalls;

  constructor(calls: RpcCalls) {
    this.#calls = calls;
  }

  ask(name: string, request: JsonObject): Promise<RpcAnswer> {
    const served = servedMethods.find(({ method }) => nameOf(method) === name);
    if (served === undefined) throw new Error(`there is no ${name}`);
    return this.#calls.ask(served, getOption(served.method, access).callers[0] ?? '', request);
  }

  /** The message of a call that must succeed. On a busy machine a store may miss its limit, which a caller repeats. */
  async get(name: string, request: JsonObject, attempt = 1): Promise<JsonObject> {
    const { code, details, message } = await this.ask(name, request);
    if (code === unavailable && attempt < 5) return this.get(name, request, attempt + 1);
    if (code !== 0) throw new Error(`${name} failed with ${code}: ${details}`);
    return message;
  }
}

const unavailable: number = Code.Unavailable;

/** Such as `TokenService.Exchange` or `admin.UsersService.Get`. */
export const nameOf = ({ parent, name }: DescMethod): string =>
  parent.typeName.replace(/^tessera\.(?:(admin)|\w+)\.v1\./, (_all, admin?: string) =>
    admin === undefined ? '' : 'admin.',
  ) + `.${name}`;
