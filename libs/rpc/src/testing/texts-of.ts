import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';

/** A place of a text in a message: its path, such as `.user.roles[1]`, and a message that has a text there. */
export interface TextPlace {
  readonly path: string;
  readonly holding: (text: string) => unknown;
}

/** Every place of a text in messages of a kind; of a message inside one of its own kind, none. */
export function textsOf(desc: DescMessage, around: readonly DescMessage[] = []): TextPlace[] {
  if (around.includes(desc)) return [];
  return desc.fields.flatMap((field) =>
    inField(field, [...around, desc]).map(({ path, holding }) => ({
      path: `.${field.jsonName}${path}`,
      holding: (text) =>
        field.oneof === undefined
          ? { [field.localName]: holding(text) }
          : { [field.oneof.localName]: { case: field.localName, value: holding(text) } },
    })),
  );
}

function inField(field: DescField, around: readonly DescMessage[]): TextPlace[] {
  const places = inElement(field, around);
  const other = field.scalar === ScalarType.STRING ? 'other' : field.message === undefined ? 1 : {};
  if (field.fieldKind === 'list')
    return places.map(({ path, holding }) => ({
      path: `[1]${path}`,
      holding: (text) => [other, holding(text)],
    }));
  if (field.fieldKind !== 'map') return places;
  const inValues = places.map(({ path, holding }) => ({
    path: `.key${path}`,
    holding: (text: string) => ({ first: other, key: holding(text) }),
  }));
  if (field.mapKey !== ScalarType.STRING) return inValues;
  return [...inValues, { path: '', holding: (text) => ({ first: other, [text]: other }) }];
}

function inElement(field: DescField, around: readonly DescMessage[]): TextPlace[] {
  if (field.scalar === ScalarType.STRING) return [{ path: '', holding: (text) => text }];
  if (field.message?.typeName === 'google.protobuf.Struct')
    return [
      { path: '.a.b[1]', holding: (text) => ({ a: { b: [true, text] } }) },
      { path: '.a', holding: (text) => ({ a: { [text]: null } }) },
    ];
  return field.message === undefined ? [] : textsOf(field.message, around);
}
