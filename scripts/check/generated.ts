/**
 * The committed code is what the protos say, and import rules and references are those of their tables: generates again
 * and compares.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate, trialFolder } from '../generate.ts';
import { filesMatching, readText } from './files.ts';
import { adminReferenceFile, adminReferenceText } from './admin-reference.ts';
import { referenceFile, referenceText } from './declared-reference.ts';
import { importRulesFile, importRulesText } from './import-rules.ts';
import { report } from './report.ts';

const folders = ['libs/proto-gen/src', trialFolder];

function contents(base: string): Map<string, string> {
  return new Map(
    filesMatching(`${base}/**/*_pb.ts`).map((path) => [path.slice(base.length + 1), readText(path)]),
  );
}

const fresh = mkdtempSync(join(tmpdir(), 'tessera-generated-'));
try {
  generate(fresh);
  const problems = folders.flatMap((folder) => {
    const expected = contents(join(fresh, folder));
    const committed = contents(folder);
    return [...new Set([...expected.keys(), ...committed.keys()])]
      .filter((path) => expected.get(path) !== committed.get(path))
      .map((path) => `${folder}/${path}: not what the protos say`);
  });
  if ((await importRulesText()) !== readText(importRulesFile))
    problems.push(`${importRulesFile}: not what scripts/check/import-rules.ts says`);
  if ((await adminReferenceText()) !== readText(adminReferenceFile))
    problems.push(`${adminReferenceFile}: not what the protos and their comments say`);
  if ((await referenceText()) !== readText(referenceFile))
    problems.push(`${referenceFile}: not what the tables of fields in libs/directory say`);
  report(problems, 'Run `npm run generate` and commit the result.');
} finally {
  rmSync(fresh, { recursive: true });
}
