import { isEntry, type Entry } from '../files/imported.ts';
import { looksLikeStatus } from '../files/people-file.ts';
import { withheldPassword } from '@tessera/directory';
import { attributesOf } from './attributes-of-product.ts';
import { isEmpty, keyOf, parsed, pathOf, textOf, type Field, type Fields } from './fields.ts';
import type { KnownKeys, Reading } from './keys-of-product.ts';
import type { Notes } from './notes.ts';
import { hashAsText } from './password-texts.ts';
import { saysNo, saysYes, stricter, type Outcome, type Product } from './product.ts';

const hasNoCounterpart = 'has no counterpart';
const verified = { emailVerified: 'email', phoneNumberVerified: 'phoneNumber' } as const;

/** A person in the declared state; undefined for one who does not come. Notes what is left out. */
export function personOf(fields: Fields, reading: Reading): Entry | undefined {
  const { known, notes } = reading;
  const standing = standingOf(fields, reading);
  if (standing.outcome === 'gone') return undefined;
  const id = idOf(fields, known.product);
  const { username, ...user } = userOf(fields, reading);
  const name = username ?? user['email'] ?? user['phoneNumber'] ?? id;
  if (name === '') {
    notes.add('user name', 'there is none, so they are left out');
    return undefined;
  }
  const attributes = attributesOf(fields, id === '' ? [] : [[known.product.id.attribute, id]], reading);
  const passwordHash = passwordOf(fields, standing, reading);
  noteOthers(fields, reading);
  return {
    username: name,
    ...user,
    // Without a status, people who were disabled here stay disabled.
    ...(standing.outcome === 'disabled' && { status: 'disabled' }),
    ...(passwordHash !== undefined && { passwordHash }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
  };
}

/** The identifier that the person had there; empty without one. */
export function idOf(fields: Fields, { id }: Product): string {
  return id.keys.map((key) => fields.text(key)).find((text) => text !== '') ?? '';
}

interface Standing {
  readonly outcome: Outcome;
  readonly needsNewPassword: boolean;
}

/** What the person may do: no more than each of the keys says, and nothing where nobody knows what one means. */
function standingOf(fields: Fields, { known, now, notes }: Reading): Standing {
  let [outcome, needsNewPassword]: [Outcome, boolean] = ['active', false];
  const disabled = (what: string, why: string): Outcome => {
    notes.add(what, `${why}, so they are disabled`);
    return 'disabled';
  };
  for (const { keys, says, otherwise } of known.product.status) {
    const [first = ''] = keys;
    const values = keys.flatMap((key) => fields.within(key));
    const found = values.map(
      ({ name, value }): Outcome =>
        says(textOf(value) ?? '', now) ?? disabled(name, `${known.product.name} is not known to write this`),
    );
    if (values.length === 0) found.push(otherwise ?? disabled(first, 'there is none'));
    if (found.includes('gone')) notes.add(values[0]?.name ?? first, 'they are left out');
    for (const each of found) outcome = stricter(outcome, each);
    needsNewPassword ||= found.includes('newPassword');
  }
  for (const field of fields.all)
    if (!isEmpty(field.value) && looksLikeStatus(field.name) && isUnknown(field, known))
      outcome = stricter(outcome, disabled(field.name, 'nobody knows what it means'));
  return { outcome, needsNewPassword };
}

function isUnknown(field: Field, { attributeOf, isUnderstood }: KnownKeys): boolean {
  return !isUnderstood(field) && attributeOf(field) === undefined;
}

function userOf(fields: Fields, { known, notes }: Reading): Entry {
  const user: Entry = {};
  const address: Record<string, string> = {};
  for (const [target, keys] of known.user) {
    const found = keys.flatMap((key) => fields.of(key));
    if (target in verified) {
      user[target] = found.length > 0 && found.every(({ value }) => saysYes(textOf(value) ?? ''));
      continue;
    }
    const value = firstOf(target, found, known.product, notes);
    if (value === undefined) continue;
    if (target.startsWith('address.')) address[target.slice('address.'.length)] = value;
    else user[target] = value;
  }
  // What nobody says to be verified is not.
  for (const [key, of] of Object.entries(verified)) {
    if (user[of] === undefined) Reflect.deleteProperty(user, key);
    else user[key] ??= false;
  }
  const whole = [user['givenName'], user['familyName']].filter(Boolean).join(' ');
  if (whole !== '') user['name'] ??= whole;
  if (Object.keys(address).length > 0) user['address'] = address;
  return user;
}

function firstOf(
  target: string,
  found: readonly Field[],
  product: Product,
  notes: Notes,
): string | undefined {
  let first: { readonly name: string; readonly value: string } | undefined;
  for (const { name, value: given } of found) {
    const value = converted(target, textOf(given), product);
    if (value === undefined)
      notes.add(name, target === 'phoneNumber' ? 'is no number such as +46701234567' : 'is no text');
    else if (first === undefined) first = { name, value };
    else if (first.value !== value) notes.add(name, `differs from ${first.name}, which is taken`);
  }
  return first?.value;
}

function converted(target: string, text: string | undefined, product: Product): string | undefined {
  if (text === undefined) return undefined;
  if (target === 'locale') return text.replaceAll('_', '-');
  if (target !== 'phoneNumber') return text;
  const digits = text.replace('(0)', '').replaceAll(/[\s().-]/g, '');
  const number = product.hasBarePhoneNumbers === true && /^\d/.test(digits) ? `+${digits}` : digits;
  return number.startsWith('+') ? number : undefined;
}

/** The hash that may come: one that no password has if there a password alone would not have been enough. */
function passwordOf(
  fields: Fields,
  { needsNewPassword }: Standing,
  { known, said, notes, hashes }: Reading,
): string | undefined {
  const { secondFactors, password } = known.product;
  const [needed = ''] = secondFactors.keys;
  const factor = factorOf(fields, secondFactors.keys);
  const hash = hashes?.get(idOf(fields, known.product));
  const found = hash === undefined ? password.find?.(fields) : hashAsText(hash);
  const none = (what: string, why: string): undefined => {
    notes.add(what, `${why}; they need a link to set one`);
    return undefined;
  };
  const withheld = (what: string, why: string): string => {
    none(what, why);
    // Without any, the one that an earlier import brought would stay.
    return withheldPassword;
  };
  if (factor !== undefined)
    return withheld(
      factor,
      'cannot be moved, so their passwords, which alone would be enough, are left out too',
    );
  if (found === undefined) return none('password', 'there is none in the file');
  if ('problem' in found) return none('password', found.problem);
  if (needsNewPassword) return withheld('password', `${known.product.name} asks for a new one`);
  if (secondFactors.isNeeded && !said.has(needed)) {
    const remedy = `export ${needed}, or say --nobody-has ${needed}`;
    return withheld('password', `the file does not say who has a second factor: ${remedy}`);
  }
  return found.hash;
}

/** The key that says that the person has a second factor. */
function factorOf(fields: Fields, keys: readonly string[]): string | undefined {
  return keys.find((key) => fields.within(key).some(({ value }) => !saysNo(textOf(value) ?? '')));
}

/** Notes what no table has: once for a person, whatever is in it. */
function noteOthers(fields: Fields, { known, notes }: Reading): void {
  const { providers } = known.product;
  if (providers !== undefined)
    for (const provider of providersOf(fields, providers))
      notes.add(`sign-in by ${provider}`, hasNoCounterpart);
  const unknown = new Set<string>();
  for (const field of fields.all)
    if (!isEmpty(field.value) && isUnknown(field, known) && !looksLikeStatus(field.name))
      unknown.add(field.name.split(/[.[]/).slice(0, 2).join('.'));
  for (const name of unknown) notes.add(name, hasNoCounterpart);
}

function providersOf(fields: Fields, { keys, name, own }: NonNullable<Product['providers']>): string[] {
  const known = new Set(keys.map(keyOf));
  const isName = (each: string): boolean =>
    each.endsWith(`.${keyOf(name)}`) && pathOf(each).some((key) => known.has(key));
  const single = fields.all.filter((field) => isName(field.key)).map(({ value }) => value);
  const lists = keys
    .flatMap((key) => fields.of(key))
    .flatMap(({ value }): unknown[] => {
      const list = parsed(value);
      return Array.isArray(list) ? list : [list];
    });
  const found = [...single, ...lists].map((each) => textOf(isEntry(each) ? each[name] : each) ?? '');
  return [...new Set(found)].filter((provider) => provider !== '' && !own.includes(provider));
}
