import { toBinary, type DescFile, type DescService } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { ReflectionService } from '@grpc/reflection';

/** gRPC server reflection over the descriptors of these services and of everything they import. */
export function reflectionOf(services: readonly DescService[]): ReflectionService {
  const files = new Map<string, Buffer>();
  for (const service of services) collect(service.file, files);
  // Only the files of an entry are read, so one entry of the simplest kind carries them all.
  const entry = {
    format: 'Protocol Buffer 3 EnumDescriptorProto' as const,
    type: {},
    fileDescriptorProtos: [...files.values()],
  };
  return new ReflectionService({ files: entry }, { services: services.map((service) => service.typeName) });
}

function collect(file: DescFile, into: Map<string, Buffer>): void {
  if (into.has(file.proto.name)) return;
  into.set(file.proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const imported of file.dependencies) collect(imported, into);
}
