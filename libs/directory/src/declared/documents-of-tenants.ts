import { isDeepStrictEqual } from 'node:util';
import { isAlias, isSeq, visit, type Node } from 'yaml';
import { DeclaredText } from './positions.ts';

/** Of all documents together, each of which has all lines: more take too long to read. */
const mostLines = 5_000_000;

/**
 * The document once for each of its tenants, in their order, with this one alone and every line where it was. Undefined
 * for a document whose parts cannot be told apart, such as one with aliases, and for a very long one. Throws
 * DeclaredStateError if it is not YAML.
 */
export function documentsOfTenants(text: string, fileName: string): readonly string[] | undefined {
  const whole = new DeclaredText(text, fileName);
  const list = whole.document.get('tenants', true);
  if (!isSeq<Node>(list) || hasAlias(whole.document)) return undefined;
  if (list.items.length * text.split('\n').length > mostLines) return undefined;
  const [start = 0, end = 0] = list.range ?? [];
  const ranges = list.items.map(({ range }) => range);
  const isFlow = list.flow === true;
  // The brackets of `[a, b]` stay, and so does the dash before an entry of the other form, but no comma.
  const [from, to] = isFlow ? [start + 1, end - 1] : [start, end];
  const documents = ranges.map((range, place) => {
    const [value = from, after = to] = range ?? [];
    const keptFrom = isFlow ? value : (ranges[place - 1]?.[1] ?? from);
    return [
      text.slice(0, from),
      emptied(text.slice(from, keptFrom)),
      text.slice(keptFrom, after),
      emptied(text.slice(after, to)),
      text.slice(to),
    ].join('');
  });
  const values = valuesOf(whole);
  if (values === undefined) return undefined;
  const areSame = documents.every((document, place) =>
    isDeepStrictEqual(read(document), { ...values, tenants: [values.tenants[place]] }),
  );
  return areSame ? documents : undefined;
}

function hasAlias(document: DeclaredText['document']): boolean {
  let found = false;
  visit(document, (_, node) => {
    if (!isAlias(node)) return undefined;
    found = true;
    return visit.BREAK;
  });
  return found;
}

/** Its line ends, and the indentation of what follows. */
function emptied(text: string): string {
  return text.replaceAll(/[^\r\n]/g, ' ').replaceAll(/ +(?=[\r\n])/g, '');
}

/** Undefined if it cannot be read. */
function read(document: string): ReturnType<typeof valuesOf> {
  try {
    return valuesOf(new DeclaredText(document, ''));
  } catch {
    return undefined;
  }
}

function valuesOf(text: DeclaredText): { readonly tenants: readonly unknown[] } | undefined {
  const values = text.values();
  if (typeof values !== 'object' || values === null || !('tenants' in values)) return undefined;
  const { tenants } = values;
  return Array.isArray(tenants) ? { ...values, tenants } : undefined;
}
