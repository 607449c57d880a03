import { describe, expect, it } from 'vitest';
import { documentsOfTenants } from './documents-of-tenants.ts';
import { parseDeclaredState } from './read.ts';

const block = `# All of us.
owner: ops
tenants:
  - id: acme
    name: Acme
    roles: [clerk]

  # The second.
  - id: globex
    name: >-
      Globex
  - id: initech
    name: Initech # the last
`;

describe('a document of several tenants', () => {
  it.each([
    ['of entries with dashes', block],
    ['whose dashes are not indented', block.replaceAll(/^ {2}/gm, '')],
    ['with the line ends of Windows', block.replaceAll('\n', '\r\n')],
    [
      'of entries in brackets',
      'owner: ops\ntenants: [{ id: acme, name: Acme }, # one\n  { id: globex, name: Globex },\n  { id: initech, name: I }, ]\n',
    ],
    [
      'in JSON',
      '{"owner": "ops", "tenants": [{"id": "acme", "name": "A"},{"id": "globex", "name": "G"}, {"id": "initech", "name": "I"}]}',
    ],
  ])('%s is one of each, at the same line and column', (_title, text) => {
    const whole = parseDeclaredState(text, 'state.yaml');
    const documents = documentsOfTenants(text, 'state.yaml') ?? [];
    const parts = documents.map((document) => parseDeclaredState(document, 'state.yaml'));
    expect(parts.map(({ tenantIds }) => tenantIds)).toEqual([['acme'], ['globex'], ['initech']]);
    expect(parts.map(({ owner }) => owner)).toEqual(['ops', 'ops', 'ops']);
    expect(parts.flatMap(({ tenants }) => tenants)).toEqual(whole.tenants);
    const places = (state: typeof whole) =>
      state.othersThan('none').map(({ line, column }) => [line, column]);
    expect(parts.flatMap(places)).toEqual(places(whole));
    for (const document of documents) expect(document.length).toBeLessThanOrEqual(text.length);
  });

  it('is not told apart where the rest of it would say something else', () => {
    for (const text of ['tenants:\n- id: a\n- id: b\n? : ', '!!omap\n- tenants:\n  - id: a\n  - id: b\n'])
      expect(documentsOfTenants(text, 'state.yaml')).toBeUndefined();
  });

  it('is not told apart where one may use what another one has, where there is no list, or where it is too long', () => {
    const withAlias =
      'tenants:\n  - { id: acme, name: A, roles: &roles [clerk] }\n  - { id: globex, name: G, roles: *roles }\n';
    expect(documentsOfTenants(withAlias, 'state.yaml')).toBeUndefined();
    const many = `tenants:\n${'  - { id: acme, name: Acme }\n'.repeat(3000)}`;
    for (const text of ['', 'tenants: none\n', '[]\n', many])
      expect(documentsOfTenants(text, 'state.yaml')).toBeUndefined();
  });
});
