/** The reference of the administration API: `npm run generate` writes it from the protos and their comments. */
import {
  createFileRegistry,
  fromBinary,
  type DescField,
  type DescFile,
  type DescMessage,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { declaredAccess } from '../../libs/rpc/src/access/declared-access.ts';
import { execFileSync } from 'node:child_process';
import { format, resolveConfig } from 'prettier';

export const adminReferenceFile = 'libs/admin-client/reference.md';

const introduction = `# The administration API

<!-- Generated from the protos by \`npm run generate\`. -->

Calls are \`POST <administration listener>/<service>/<method>\` with an access token and a JSON body, or gRPC:
[examples](../../docs/operations.md#administration-over-http). Fields have their JSON names here; an \`updateMask\` is a text of field names, with
commas. Each call needs one scope of the token. A list answers the first page, and a page token for the next one.
`;

/** The page as it has to be. */
export async function adminReferenceText(): Promise<string> {
  const image = execFileSync('buf', ['build', 'proto', '--output', '-#format=binpb'], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  const files = [...registry.files]
    .filter((file) => file.proto.package === 'tessera.admin.v1')
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const shared = new Set(files.flatMap(({ messages }) => messages.flatMap(sharedMessages)));
  const page = new Page(
    [...files, ...[...shared].map(({ file }) => file)],
    [...files.flatMap(({ messages }) => messages), ...shared],
  );
  const text = [
    introduction,
    ...files.flatMap((file) => page.ofFile(file)),
    ...(shared.size > 0 ? ['## Shared', ...[...shared].flatMap((message) => page.ofMessage(message))] : []),
  ].join('\n\n');
  return format(text, { ...(await resolveConfig(adminReferenceFile)), parser: 'markdown' });
}

/** Messages of other packages of ours in a message. */
function sharedMessages({ file, fields }: DescMessage): DescMessage[] {
  return fields
    .flatMap(({ message }) => message ?? [])
    .filter(
      ({ file: other }) =>
        other.proto.package !== file.proto.package && other.proto.package.startsWith('tessera.'),
    )
    .flatMap((message) => [message, ...sharedMessages(message)]);
}

class Page {
  readonly #comments = new Map<string, string>();
  /** Of fields, by the names that comments use. */
  readonly #jsonNames: ReadonlyMap<string, string>;
  readonly #linked: ReadonlyMap<string, DescMessage>;

  constructor(files: readonly DescFile[], messages: readonly DescMessage[]) {
    for (const file of files)
      for (const { path, leadingComments } of file.proto.sourceCodeInfo?.location ?? [])
        if (leadingComments !== '') this.#comments.set(`${file.name} ${path.join(' ')}`, leadingComments);
    const fields = messages.flatMap((message) => message.fields);
    this.#jsonNames = new Map(fields.map(({ name, jsonName }) => [name, jsonName]));
    this.#linked = new Map(
      messages.filter(({ fields }) => fields.length > 0).map((message) => [message.name, message]),
    );
  }

  /** Sections of its services and their messages. */
  ofFile(file: DescFile): string[] {
    const services = file.services.flatMap((service, index) => [
      `## ${service.name}`,
      `\`${service.typeName}\``,
      this.#comment(file, 6, index),
      ...service.methods.flatMap((method, at) => [
        `### ${service.name}/${method.name}`,
        `${this.#nameOf(method.input)} → ${method.methodKind === 'server_streaming' ? 'stream of ' : ''}${this.#nameOf(method.output)}; scope \`${declaredAccess(method).scopes.join('` or `')}\``,
        this.#comment(file, 6, index, 2, at),
      ]),
    ]);
    return [...services, ...file.messages.flatMap((message) => this.ofMessage(message))];
  }

  ofMessage(message: DescMessage): string[] {
    const { file, name, fields } = message;
    if (fields.length === 0) return [];
    const index = file.messages.indexOf(message);
    const rows = fields.map((field, at) => {
      const text = this.#comment(file, 4, index, 2, at).replaceAll('\n', ' ').replaceAll('|', '\\|');
      return `| \`${field.jsonName}\` | ${this.#typeOf(field)} | ${text} |`;
    });
    return [
      `### ${name}`,
      this.#comment(file, 4, index),
      ['| Field | Type | |', '| --- | --- | --- |', ...rows].join('\n'),
    ];
  }

  /** In Markdown, with links to the messages that it names. */
  #comment(file: DescFile, ...path: readonly number[]): string {
    const comment = this.#comments.get(`${file.name} ${path.join(' ')}`) ?? '';
    return comment
      .replaceAll(/^ /gm, '')
      .trim()
      .replaceAll(/(?<![`\w.])[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]+\b/g, (name) => this.#linkTo(name) ?? name)
      .replaceAll(/(?<=\bas in )[A-Z][a-z]+\b/gi, (name) => this.#linkTo(name) ?? name)
      .replaceAll(/(?<=`)[a-z]+(?:_[a-z]+)+(?=`)/g, (name) => this.#jsonNames.get(name) ?? name);
  }

  #linkTo(name: string): string | undefined {
    return this.#linked.has(name) ? `[${name}](#${name.toLowerCase()})` : undefined;
  }

  #nameOf({ name }: DescMessage): string {
    return this.#linkTo(name) ?? `${name} (empty)`;
  }

  #typeOf(field: DescField): string {
    if (field.fieldKind === 'list') return `list of ${this.#typeOfOne(field)}`;
    if (field.fieldKind === 'map') return `map of ${this.#typeOfOne(field)}`;
    return this.#typeOfOne(field);
  }

  #typeOfOne({ message, proto, enum: values }: DescField): string {
    if (message !== undefined) return wellKnown[message.typeName] ?? this.#nameOf(message);
    if (values !== undefined) return values.values.map(({ name }) => `\`${name}\``).join(', ');
    return scalars[proto.type] ?? 'number';
  }
}

/** As JSON has them. */
const wellKnown: Readonly<Record<string, string>> = {
  'google.protobuf.Timestamp': 'time (RFC 3339)',
  'google.protobuf.FieldMask': 'field mask',
  'google.protobuf.Struct': 'object',
};

/** By `google.protobuf.FieldDescriptorProto.Type`; the others are numbers. */
const scalars: Readonly<Record<number, string>> = { 8: 'boolean', 9: 'text', 12: 'bytes (base64)' };
