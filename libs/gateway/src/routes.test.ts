import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contract } from './dialects/contract.ts';
import { standard } from './dialects/standard.ts';
import { collidesWithServedPath } from '@tessera/oauth';
import { templates } from './testing/sample-pages.ts';
import { routes } from './routes.ts';

const document = readFileSync(new URL('../../../docs/interface.md', import.meta.url), 'utf8');

/** The lines of routes in a text, and the routes that each names: one path, with one or several methods. */
function routeLines(text: string): { line: string; routes: string[] }[] {
  return [...text.matchAll(/^- `([A-Z, ]+) (\/[^`]*)`: .*$/gm)].map(([line, methods = '', path = '']) => ({
    line,
    routes: methods.split(', ').map((method) => `${method} ${path}`),
  }));
}

/** The routes that have a line, each once. */
function routesIn(text: string): string[] {
  return [...new Set(routeLines(text).flatMap(({ routes: named }) => named))];
}

describe('docs/interface.md', () => {
  const names = routes.map(({ method, path }) => `${method} ${path}`);

  it('has a line for every route and no other', () => {
    expect(routesIn(document).toSorted()).toEqual(names.toSorted());
  });

  it('fails the check if a line is missing', () => {
    for (const { line, routes: named } of routeLines(document)) {
      const others = names.filter((name) => !named.includes(name));
      expect(routesIn(document.replace(line, '')).toSorted()).toEqual(others.toSorted());
    }
  });

  it.each([contract, standard])('names every parameter of the $name dialect', (dialect) => {
    const unnamed = Object.values(dialect.names).filter((name) => !document.includes(`\`${name}\``));
    expect(unnamed).toEqual([]);
  });
});

describe('the issuer of a tenant', () => {
  it('cannot have the path of a route or a file, or one above it', () => {
    const paths = [...routes, ...templates.assets].map(({ path }) => path);
    for (const path of [...paths, '/readyz']) {
      const above = path.slice(0, path.indexOf('/', 1) + 1).replace(/\/$/, '') || path;
      for (const one of [path, above]) expect([one, collidesWithServedPath(one)]).toEqual([one, true]);
      expect(collidesWithServedPath(`/t${path}`)).toBe(false);
    }
  });
});
