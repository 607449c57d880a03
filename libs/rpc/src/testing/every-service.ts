import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BuiltService, Route } from '../call.ts';

/** The folder `src` of proto-gen. */
const generated = new URL('../../../', import.meta.resolve('@tessera/proto-gen/access'));

/** The services of all protos but those of `grpc`, which the hosts serve themselves. */
export async function everyService(): Promise<DescService[]> {
  const files = globSync('**/*_pb.ts', { cwd: fileURLToPath(generated), exclude: ['grpc/**'] });
  const modules = await Promise.all(
    files.map(async (file) => (await import(new URL(file, generated).href)) as object),
  );
  // A file that lists services has them again.
  return [...new Set(modules.flatMap((module) => Object.values(module).filter(isService)))];
}

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}

/** A service whose methods answer with an empty message, and tell of each request that reaches them. */
export function offering(
  services: readonly DescService[],
  reached: (method: DescMethod) => void,
  bearer?: Route['bearer'],
): BuiltService {
  const handler = (method: DescMethod) =>
    method.methodKind === 'unary'
      ? () => {
          reached(method);
          return {};
        }
      : async function* () {
          reached(method);
          yield {};
        };
  const routes = services.map((service) => ({
    service,
    handlers: Object.fromEntries(service.methods.map((method) => [method.localName, handler(method)])),
    bearer,
  }));
  return { name: 'keys', routes, ready: async () => {}, close: async () => {} };
}
