/**
 * `npm run sbom`: the software bill of materials of the image, CycloneDX as JSON, on the standard output. It is read
 * from the assembled tree, not from the lock file, so it lists what ships and nothing else. The same sources give the
 * same document: the serial number and the time that npm adds are left out.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface BillOfMaterials {
  serialNumber?: string;
  readonly metadata: { timestamp?: string };
}

/** An assembled tree; without one, it is assembled for this and removed. */
const [given] = process.argv.slice(2);
const made = given === undefined ? mkdtempSync(join(tmpdir(), 'tessera-sbom-')) : undefined;
try {
  const tree = given ?? made ?? '';
  if (made !== undefined) {
    const assemble = join(import.meta.dirname, 'assemble.ts');
    execFileSync(process.execPath, [assemble, tree], { stdio: ['ignore', 2, 2] });
  }
  const text = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx'], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const document = JSON.parse(text) as BillOfMaterials;
  delete document.serialNumber;
  delete document.metadata.timestamp;
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
} finally {
  if (made !== undefined) rmSync(made, { recursive: true });
}
