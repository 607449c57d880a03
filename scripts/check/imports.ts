const statements = [
  /^\s*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
];

/** Everything a module imports, by name, types included. */
export function importsOf(source: string): Set<string> {
  const found = new Set<string>();
  for (const statement of statements) {
    for (const [, specifier = ''] of source.matchAll(statement)) found.add(specifier);
  }
  return found;
}
