/**
 * Folders of a package stand on floors, by the table in `folder-order.ts`: no file imports from a floor above its own,
 * types included. What the table does not know is refused.
 */
import { dirname, join, normalize } from 'node:path';
import { filesMatching, readText } from './files.ts';
import { folderOrder } from './folder-order.ts';
import { importsOf } from './imports.ts';
import { report } from './report.ts';

const isTest = (path: string) => /\.(?:test|contract)\.ts$|\/(?:contract|testing)\//.test(path);

const packages = filesMatching('{apps,libs,tools}/*/package.json')
  .map((path) => dirname(path))
  .filter((folder) => folder !== 'libs/proto-gen');

report(
  [...packages.flatMap(problemsOfPackage), ...rowsOfNone()],
  'Move what is imported to a lower floor, or what imports it to a higher one: scripts/check/folder-order.ts.',
);

function problemsOfPackage(folder: string): string[] {
  const source = `${folder}/src/`;
  const files = filesMatching(`${source}**/*.ts`).filter((path) => !isTest(path));
  const placeOf = (path: string) => {
    const inSource = path.slice(source.length);
    return inSource.includes('/') ? dirname(inSource) : inSource;
  };
  const row = folderOrder[folder];
  const places = new Set(files.map(placeOf));
  if (row === undefined) {
    return [...places].some((place) => !place.endsWith('.ts')) ? [`${folder}: has folders, but no row`] : [];
  }
  const order = row.split(/\s+/);
  const problems = order
    .filter((place) => !places.has(place))
    .map((place) => `${folder}: the row names ${place}, which does not exist`);
  for (const file of files) {
    const floor = order.indexOf(placeOf(file));
    if (floor < 0) {
      problems.push(`${file}: has no place in the row of its package`);
      continue;
    }
    for (const specifier of importsOf(readText(file))) {
      if (!specifier.startsWith('.')) continue;
      const place = placeOf(normalize(join(dirname(file), specifier)));
      if (order.indexOf(place) > floor) problems.push(`${file}: imports ${specifier}, a floor above`);
    }
  }
  return problems;
}

function rowsOfNone(): string[] {
  return Object.keys(folderOrder)
    .filter((folder) => !packages.includes(folder))
    .map((folder) => `${folder}: has a row, but is no package`);
}
