import { fittingAttributes } from '../files/fitting-attributes.ts';
import { isEmpty, textOf, type Fields } from './fields.ts';
import type { Reading } from './keys-of-product.ts';

type Attribute = string | readonly string[];

/**
 * The attributes of a person, as many as a person may have. Notes those that are left out.
 * @param first those that stay
 */
export function attributesOf(
  { all }: Fields,
  first: readonly (readonly [string, string])[],
  { known, notes }: Pick<Reading, 'known' | 'notes'>,
): Readonly<Record<string, unknown>> {
  const own = Object.fromEntries(first);
  const others = new Map<string, { readonly field: string; readonly value: Attribute }>();
  for (const field of all) {
    if (isEmpty(field.value) || known.isUnderstood(field)) continue;
    const name = known.attributeOf(field);
    if (name === undefined) continue;
    const value = attributeValue(field.value);
    if (name === '__proto__') notes.add(field.name, 'no attribute may have this name');
    else if (value === undefined) notes.add(field.name, 'is neither text nor a list of texts');
    else if (others.has(name) || Object.hasOwn(own, name))
      notes.add(field.name, `another attribute has the name ${name}`);
    else others.set(name, { field: field.name, value });
  }
  const values = Object.fromEntries([...others].map(([name, { value }]) => [name, value]));
  const { kept, gone } = fittingAttributes(own, values);
  for (const name of gone)
    notes.add(others.get(name)?.field ?? name, 'a person has no room for more attributes');
  // Those of ours first.
  return { ...own, ...kept };
}

function attributeValue(value: unknown): Attribute | undefined {
  if (!Array.isArray(value)) return textOf(value);
  const texts = value.map(textOf);
  const filled = texts.filter((text): text is string => text !== undefined && text !== '');
  return filled.length > 0 && !texts.includes(undefined) ? filled : undefined;
}
