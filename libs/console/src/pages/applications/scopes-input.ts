import type { Resource } from '@tessera/proto-gen/admin-resources';
import { mostChoices, type Input, type Sent } from '../../forms/form-page.ts';

const scopesIn = (resources: readonly Resource[]) =>
  resources.flatMap(({ name, scopes }) => scopes.map((scope) => ({ ...scope, api: name })));

/** What an application may do at the APIs of its organization: boxes, or a line for each where there are many. */
export function scopesInput(resources: readonly Resource[], present: readonly string[]): readonly Input[] {
  const known = scopesIn(resources);
  const given = present.filter((scope) => known.some(({ name }) => name === scope));
  if (known.length === 0) return [];
  const input = { name: 'scopes', label: 'What it may do at your APIs' };
  if (known.length > mostChoices)
    return [{ ...input, kind: 'lines', hint: 'The names of scopes, one a line.', value: given.join('\n') }];
  const options = known.map(({ name, description, api }) => ({
    value: name,
    label: name,
    hint: description || api,
    isOn: given.includes(name),
  }));
  return [{ ...input, kind: 'several', options }];
}

/** The scopes that were chosen, with those of an application that are of no API. */
export function scopesOf(sent: Sent, present: readonly string[], resources: readonly Resource[]): string[] {
  const known = scopesIn(resources);
  const others = present.filter((scope) => !known.some(({ name }) => name === scope));
  return [...new Set([...others, ...sent.chosen('scopes')])];
}
