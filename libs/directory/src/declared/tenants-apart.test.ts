import { describe, expect, it } from 'vitest';
import { parseDeclaredState } from './read.ts';
import { tenantsApart } from './tenants-apart.ts';

const block = `# All of us.
owner: ops
tenants:
  - id: acme
    name: Acme
    roles: &roles [clerk, packer]

  # The second.
  - id: globex
    name: >-
      Globex
    roles: *roles
    users: [{ username: ada, attributes: { teams: [a] } }]
`;

describe('a tenant of a document of several', () => {
  it('is a document of its own, with what stands outside the list, and with what an alias is of', () => {
    const whole = parseDeclaredState(block, 'state.yaml');
    const apart = tenantsApart(block, 'state.yaml');
    const parts = apart.map(({ document }) => parseDeclaredState(document, 'state.yaml'));
    expect(apart.map(({ tenantId }) => tenantId)).toEqual(['acme', 'globex']);
    expect(parts.map(({ tenantIds }) => tenantIds)).toEqual([['acme'], ['globex']]);
    expect(parts.map(({ owner }) => owner)).toEqual(['ops', 'ops']);
    expect(parts.flatMap(({ tenants }) => tenants)).toEqual(whole.tenants);
  });

  it('has its mistakes where they stand in the whole document, line by line', () => {
    const [, globex] = tenantsApart(block, 'state.yaml');
    const said = [
      'Nothing was applied: tenants[0] stays.',
      'state.yaml:1:40: tenants[0].users[0].username: is taken: tenants[0].users[1]',
      'state.yaml:1:40: tenants[0].users[0].attributes.teams: is too long',
      'state.yaml:1:40: tenants[0]: is unknown',
      'state.yaml:1:1: must not be',
      'other.yaml:1:1: tenants[0].name: is of another file',
    ].join('\n');
    expect(globex?.placed(said)).toBe(
      [
        'Nothing was applied: tenants[0] stays.',
        'state.yaml:13:15: tenants[1].users[0].username: is taken: tenants[0].users[1]',
        'state.yaml:13:44: tenants[1].users[0].attributes.teams: is too long',
        'state.yaml:9:5: tenants[1]: is unknown',
        'state.yaml:9:5: must not be',
        'other.yaml:1:1: tenants[0].name: is of another file',
      ].join('\n'),
    );
  });
});
