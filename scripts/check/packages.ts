/**
 * What a package imports, its package.json declares: each from the dependencies of its own, and nothing across a
 * package's border by relative path. Tests ship nowhere: they may import whatever the workspace declares somewhere.
 */
import { existsSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { filesMatching, readText } from './files.ts';
import { importsOf } from './imports.ts';
import { report } from './report.ts';

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const testRuntime = '@tessera/test-kit';
const isTestFile = (path: string) => /\.(?:test|contract)\.ts$|\/(?:contract|testing)\//.test(path);

const readManifest = (folder: string) => JSON.parse(readText(join(folder, 'package.json'))) as Manifest;
const root = readManifest('.');
const tools = Object.keys(root.devDependencies ?? {});
const folders = filesMatching('{apps,libs,tools}/*/package.json').map((path) => dirname(path));
const declaredSomewhere = folders.flatMap((folder) => Object.keys(readManifest(folder).dependencies ?? {}));

function problemsOfPackage(folder: string): string[] {
  const manifest = readManifest(folder);
  // Packages that exist for tests only.
  const forTests =
    [testRuntime, '@tessera/test-client'].includes(manifest.name) || folder.startsWith('tools/');
  const dependencies = Object.keys({
    ...manifest.dependencies,
    ...(forTests ? manifest.devDependencies : {}),
  });
  const problems: string[] = [];
  if (!forTests && dependencies.includes(testRuntime)) {
    problems.push(`${folder}/package.json: depends on ${testRuntime}, which is for tests`);
  }
  const ours = new Set([manifest.name, ...dependencies]);
  const ofTests = new Set([...ours, ...tools, ...declaredSomewhere]);
  for (const file of filesMatching(`${folder}/src/**/*.ts`)) {
    const declared = forTests || isTestFile(file) ? ofTests : ours;
    problems.push(...problemsOfFile(file, folder, declared, `${folder}/package.json`));
  }
  return problems;
}

function problemsOfFile(
  file: string,
  folder: string,
  declared: ReadonlySet<string>,
  where: string,
): string[] {
  const problems: string[] = [];
  for (const specifier of importsOf(readText(file))) {
    if (specifier.startsWith('.')) {
      const target = normalize(join(dirname(file), specifier));
      if (!target.startsWith(`${folder}/`))
        problems.push(`${file}: imports ${specifier}, outside its package`);
      continue;
    }
    if (specifier.startsWith('node:')) continue;
    const name = packageOf(specifier);
    if (builtinModules.includes(name))
      problems.push(`${file}: imports ${specifier} without the prefix node:`);
    else if (!declared.has(name))
      problems.push(`${file}: imports ${specifier}, which ${where} does not declare`);
  }
  return problems;
}

const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** One version of each dependency in the whole workspace, and always an exact one. */
function problemsOfVersions(folders: readonly string[]): string[] {
  const seen = new Map<string, { version: string; folder: string }>();
  const problems: string[] = [];
  for (const folder of folders) {
    const { dependencies = {}, devDependencies = {} } = readManifest(folder);
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      const first = seen.get(name);
      if (!/^\d/.test(version))
        problems.push(`${folder}/package.json: ${name} has no exact version: ${version}`);
      if (first && first.version !== version) {
        problems.push(`${folder}/package.json: ${name} ${version}, but ${first.version} in ${first.folder}`);
      }
      seen.set(name, first ?? { version, folder });
    }
  }
  return problems;
}

const scripts = filesMatching('scripts/**/*.ts', '*.ts').flatMap((file) =>
  problemsOfFile(file, '.', new Set(tools), 'package.json').filter(
    (problem) => !problem.includes('outside its package'),
  ),
);
/** What installs the product ships without it: its scripts import what the project's tools and tests may. */
const deployment = filesMatching('deploy/**/*.ts').flatMap((file) =>
  problemsOfFile(
    file,
    'deploy',
    new Set([...tools, ...declaredSomewhere, testRuntime, '@tessera/cluster']),
    'a package.json',
  ).filter((problem) => !problem.includes('outside its package')),
);
report(
  [
    ...folders.filter((folder) => existsSync(join(folder, 'src'))).flatMap(problemsOfPackage),
    ...scripts,
    ...deployment,
    ...problemsOfVersions(['.', ...folders]),
  ],
  'Declare the import, or ask whether it belongs there: CONTRIBUTING.md says which package may import which.',
);
