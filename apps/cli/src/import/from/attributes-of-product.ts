import { mostAttributeBytes, mostAttributes } from '@tessera/directory';
import { isEmpty, textOf, type Fields } from './fields.ts';
import type { Reading } from './keys-of-product.ts';

type Attribute = string | readonly string[];

/**
 * The attributes of a person, as many as a person may have. Notes those that are left out.
 * @param first those that come before what the file has
 */
export function attributesOf(
  { all }: Fields,
  first: readonly (readonly [string, string])[],
  { known, notes }: Pick<Reading, 'known' | 'notes'>,
): Readonly<Record<string, Attribute>> {
  const attributes = new Map<string, Attribute>();
  // The braces, and a comma or brace after each.
  let bytes = 1;
  const fits = (name: string, value: Attribute): boolean => {
    const size = Buffer.byteLength(`${JSON.stringify(name)}:${JSON.stringify(value)},`);
    if (attributes.size === mostAttributes || bytes + size > mostAttributeBytes) return false;
    attributes.set(name, value);
    bytes += size;
    return true;
  };
  for (const [name, value] of first) fits(name, value);
  for (const field of all) {
    if (isEmpty(field.value) || known.isUnderstood(field)) continue;
    const name = known.attributeOf(field);
    if (name === undefined) continue;
    const value = attributeValue(field.value);
    if (value === undefined) notes.add(field.name, 'is neither text nor a list of texts');
    else if (attributes.has(name)) notes.add(field.name, `another attribute has the name ${name}`);
    else if (!fits(name, value)) notes.add(field.name, 'a person has no room for more attributes');
  }
  return Object.fromEntries(attributes);
}

function attributeValue(value: unknown): Attribute | undefined {
  if (!Array.isArray(value)) return textOf(value);
  const texts = value.map(textOf);
  const filled = texts.filter((text): text is string => text !== undefined && text !== '');
  return filled.length > 0 && !texts.includes(undefined) ? filled : undefined;
}
