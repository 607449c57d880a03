import { clone, createFileRegistry, clearExtension, create, setExtension } from '@bufbuild/protobuf';
import type { DescFile, DescService, MessageInitShape } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, MethodOptionsSchema } from '@bufbuild/protobuf/wkt';
import { access, AccessSchema } from '@tessera/proto-gen/access';

type Declarations<S extends DescService> = {
  readonly [M in keyof S['method']]?: MessageInitShape<typeof AccessSchema> | undefined;
};

/** The service as if its proto declared these methods so; `undefined` removes a declaration. */
export function declaring<S extends DescService>(service: S, declarations: Declarations<S>): S {
  const proto = clone(FileDescriptorProtoSchema, service.file.proto);
  const changed = proto.service.find(({ name }) => name === service.name);
  for (const [localName, declaration] of Object.entries(declarations)) {
    const name = service.method[localName]?.name;
    const method = changed?.method.find((candidate) => candidate.name === name);
    if (method === undefined) throw new Error(`${service.typeName} has no ${localName}`);
    method.options ??= create(MethodOptionsSchema);
    if (declaration === undefined) clearExtension(method.options, access);
    else setExtension(method.options, access, create(AccessSchema, declaration as object));
  }
  const imported = importsOf(service.file, new Map());
  const found = createFileRegistry(proto, (name) => imported.get(name)).getService(service.typeName);
  if (found === undefined) throw new Error(`${service.typeName} is lost`);
  return found as S;
}

function importsOf(file: DescFile, into: Map<string, DescFile>): Map<string, DescFile> {
  for (const dependency of file.dependencies) {
    into.set(dependency.proto.name, dependency);
    importsOf(dependency, into);
  }
  return into;
}
