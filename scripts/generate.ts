/**
 * `npm run generate`: writes the TypeScript of libs/proto-gen and of the trial of rpc from the protos, the list of all
 * settings, the import rules, the reference of the administration API, and the tables of the declared state's
 * reference.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { adminReferenceFile, adminReferenceText } from './check/admin-reference.ts';
import { referenceFile, referenceText } from './check/declared-reference.ts';
import { importRulesFile, importRulesText } from './check/import-rules.ts';

/** The protos that rpc tests itself with, and their code. */
export const trialFolder = 'libs/rpc/src/testing/trial';

/** Generates below `output` instead of below the working directory, when given. */
export function generate(output?: string): void {
  const template = readFileSync('buf.gen.yaml', 'utf8');
  const trial = template.replace('clean: true\n', '').replace('libs/proto-gen/src', trialFolder);
  for (const args of [[], [trialFolder, '--template', trial]])
    execFileSync('buf', ['generate', ...args, ...(output === undefined ? [] : ['--output', output])], {
      stdio: 'inherit',
    });
}

/** Writes the names of the settings of all services into libs/process; a test of apps/standalone compares. */
async function generateSettings(): Promise<void> {
  const { standaloneConfig } = await import('../apps/standalone/src/config.ts');
  const names = Object.keys(standaloneConfig.shape).filter((name) => name.startsWith('TESSERA_'));
  const file = new URL('../libs/process/src/config/setting-names.json', import.meta.url);
  writeFileSync(file, `${JSON.stringify(names.toSorted(), null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  generate();
  await generateSettings();
  writeFileSync(importRulesFile, await importRulesText());
  writeFileSync(referenceFile, await referenceText());
  writeFileSync(adminReferenceFile, await adminReferenceText());
  console.log(
    `libs/proto-gen/src, ${trialFolder}, libs/process/src/config/setting-names.json, ${importRulesFile}, ${adminReferenceFile} and ${referenceFile} are up to date.`,
  );
}
