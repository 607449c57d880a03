import { keyOf, pathOf, type Field } from './fields.ts';
import type { Notes } from './notes.ts';
import type { Product } from './product.ts';

/** A key by which a file has to say something of somebody. */
interface NeededKey {
  readonly name: string;
  /** Those by which it may say it, as they are compared. */
  readonly keys: readonly string[];
  /** Whether it says who may sign in, and not whose sign-ins need more than a password. */
  readonly isStatus: boolean;
  /** Whether that may be known without it. */
  readonly mayBeAbsent: boolean;
}

/** A product with its keys as they are compared. */
export interface KnownKeys {
  readonly product: Product;
  /** By the key of the declared state. */
  readonly user: ReadonlyMap<string, readonly string[]>;
  readonly json: ReadonlySet<string>;
  readonly needed: readonly NeededKey[];
  /** The name of the attribute that a field becomes; undefined if it becomes none. */
  attributeOf(field: Field): string | undefined;
  /** Whether a field is read elsewhere, or means nothing here. */
  isUnderstood(field: Field): boolean;
}

/** What is known while people are read. */
export interface Reading {
  readonly known: KnownKeys;
  /** The names of the needed keys that somebody has. */
  readonly said: ReadonlySet<string>;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly notes: Notes;
  /** Password hashes that came in a file of their own, by the former identifier. */
  readonly hashes?: ReadonlyMap<string, string> | undefined;
}

export function knownKeys(product: Product): KnownKeys {
  const user = new Map(Object.entries(product.user).map(([key, from]) => [key, from.map(keyOf)]));
  const whole = new Map<string, string>();
  const beginnings: [string, string][] = [];
  for (const [key, name] of Object.entries(product.attributes))
    if (/[.:]$/.test(key)) beginnings.push([key.toLowerCase(), name]);
    else whole.set(keyOf(key), name);
  const { providers, password, secondFactors, status, meaningless } = product;
  const needed = [
    ...status.map((rule) => ({ ...rule, isStatus: true, mayBeAbsent: rule.otherwise !== undefined })),
    { ...secondFactors, isStatus: false, mayBeAbsent: true },
  ];
  const exact = new Set([...product.id.keys, ...[...user.values()].flat()].map(keyOf));
  const withParts = [
    ...needed.flatMap(({ keys }) => keys),
    ...password.keys,
    ...Object.values(meaningless).flat(),
  ];
  const understood = new Set(withParts.map(keyOf));
  const ofProviders = new Set((providers?.keys ?? []).map(keyOf));
  const isProvider = ({ key }: Field): boolean =>
    ofProviders.has(key) ||
    (key.endsWith(`.${keyOf(providers?.name ?? '')}`) && pathOf(key).some((each) => ofProviders.has(each)));
  return {
    product,
    user,
    json: new Set((product.json ?? []).map(keyOf)),
    needed: needed
      .filter(({ isNeeded }) => isNeeded)
      .map(({ keys, ...rest }) => ({ ...rest, name: keys[0] ?? '', keys: keys.map(keyOf) })),
    attributeOf({ name, key }) {
      const simple = whole.get(key);
      if (simple !== undefined) return simple;
      const [begins, prefix] = beginnings.find(([each]) => name.toLowerCase().startsWith(each)) ?? [];
      if (begins === undefined || prefix === undefined) return undefined;
      return `${prefix}${name.slice(begins.length)}`.replaceAll(/[^A-Za-z0-9_-]+/g, '_');
    },
    isUnderstood: (field) =>
      exact.has(field.key) || isProvider(field) || pathOf(field.key).some((key) => understood.has(key)),
  };
}
