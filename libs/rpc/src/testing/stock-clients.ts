import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import type { Metadata, ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { protoPath as healthProto } from 'grpc-health-check';

/**
 * One unary call with these bytes, by a client without any of our code, as `grpcurl` or a probe would be. Rejects with
 * the status of grpc-js.
 */
export async function stockCall(
  target: string,
  path: string,
  metadata: Metadata,
  body: Buffer = Buffer.alloc(0),
): Promise<Buffer | undefined> {
  const stock = new Client(target, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      stock.makeUnaryRequest(path, same, same, body, metadata, {}, (error, response) => {
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  } finally {
    stock.close();
  }
}

/** Asks `grpc.health.v1.Health/Check`; answers the name of the status. */
export function stockHealth(target: string, metadata: Metadata): (service: string) => Promise<string> {
  const { Check } = loadService(healthProto, 'grpc.health.v1.Health');
  if (Check === undefined) throw new Error('no method Check');
  return async (service) => {
    const answer = await stockCall(target, Check.path, metadata, Check.requestSerialize({ service }));
    const { status } = Check.responseDeserialize(answer ?? Buffer.alloc(0)) as { status: string };
    return status;
  };
}

/**
 * `grpc.health.v1.Health/Watch` of the whole server. Tells each status by its name, and rejects with that of the call.
 */
export async function stockHealthWatch(
  target: string,
  metadata: Metadata,
  tell: (status: string) => void,
): Promise<void> {
  const { Watch } = loadService(healthProto, 'grpc.health.v1.Health');
  if (Watch === undefined) throw new Error('no method Watch');
  const { path, requestSerialize, responseDeserialize } = Watch;
  const stock = new Client(target, credentials.createInsecure());
  try {
    await new Promise((resolve, reject) => {
      const read = (bytes: Buffer) => responseDeserialize(bytes) as { status: string };
      const stream = stock.makeServerStreamRequest(path, requestSerialize, read, { service: '' }, metadata);
      stream.on('data', ({ status }: { status: string }) => tell(status));
      stream.on('error', reject);
      stream.on('end', resolve);
    });
  } finally {
    stock.close();
  }
}

export interface ReflectionAnswer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Uint8Array[] };
}

/** Asks server reflection one question at a time. */
export function stockReflection(
  target: string,
  version: string,
  metadata: Metadata,
): (request: object) => Promise<ReflectionAnswer> {
  const entry = createRequire(import.meta.url).resolve('@grpc/reflection');
  const proto = join(entry, `../../proto/grpc/reflection/${version}/reflection.proto`);
  const { ServerReflectionInfo: method } = loadService(proto, `grpc.reflection.${version}.ServerReflection`);
  if (method === undefined) throw new Error('no method ServerReflectionInfo');
  return async (request) => {
    const stock = new Client(target, credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = method;
    try {
      return await new Promise((resolve, reject) => {
        const stream = stock.makeBidiStreamRequest<object, ReflectionAnswer>(
          path,
          requestSerialize,
          responseDeserialize,
          metadata,
        );
        stream.on('data', resolve);
        stream.on('error', reject);
        stream.end(request);
      });
    } finally {
      stock.close();
    }
  };
}

function loadService(proto: string, name: string): ServiceClientConstructor['service'] {
  const definition = loadSync(proto, { enums: String })[name];
  const loaded = loadPackageDefinition({ Service: definition as ServiceClientConstructor['service'] });
  return (loaded['Service'] as ServiceClientConstructor).service;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
