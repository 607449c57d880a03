import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { publicKeycloakPaths, publicPaths } from './public-paths.ts';

interface Values {
  readonly publicPaths: Readonly<Record<'exact' | 'prefix' | 'keycloak', readonly string[]>>;
}

it('The chart publishes each path of the gateway that is for the public, and no other', () => {
  const values = parse(readFileSync(join(import.meta.dirname, 'tessera/values.yaml'), 'utf8')) as Values;
  const { exact, prefix, keycloak } = values.publicPaths;
  expect([...exact, ...prefix].toSorted()).toEqual(publicPaths());
  expect(prefix.filter((path) => !path.endsWith('/'))).toEqual([]);
  expect(exact).not.toContain('/introspect');
  expect(keycloak).toEqual(publicKeycloakPaths());
});
