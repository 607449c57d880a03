/**
 * `npm run release -- --registry <host>`: builds the image for amd64 and arm64, attaches its bill of materials,
 * packages the chart with the digest of that image, and then pushes what it built. It also packs the command line, for
 * `npm publish`. Nothing runs for another platform
 * than this machine's, so nothing is emulated. Needs buildah, Helm and oras, which take credentials from where `docker
 * login` puts them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { onPath } from '../libs/test-kit/src/provision/executable.ts';

const root = dirname(import.meta.dirname);
const platforms = ['linux/amd64', 'linux/arm64'];
const bill = { file: 'tessera.cdx.json', type: 'application/vnd.cyclonedx+json' } as const;
const tools = { buildah: 'buildah.io', helm: 'helm.sh', oras: 'oras.land' } as const;

interface Options {
  readonly registry: string;
  readonly version: string;
  readonly buildArgs: readonly string[];
  readonly ca: string | undefined;
  readonly output: string;
  readonly plainHttp: boolean;
  readonly dryRun: boolean;
}

/** A mistake of the caller or of the machine, shown as its message. */
class ReleaseError extends Error {}

const usage = `npm run release -- --registry <host>[/<path>] [options]

  --registry <host>      where image and chart go: <registry>/tessera and <registry>/charts/tessera
  --version <version>    of both; default: that of package.json
  --build-arg <argument> of the Dockerfile, such as NODE_IMAGE=<mirror>/node:26.10.0-slim; may be repeated
  --ca <file>            a certificate authority of your own, for the npm registry
  --output <folder>      where image, bill of materials, chart and digest are written; default: release
  --plain-http           the registry has no TLS
  --dry-run              builds everything and pushes nothing`;

function optionsOf(args: readonly string[]): Options {
  const values = valuesOf(args);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const options = {
    registry: values.registry ?? '',
    version: values.version ?? version,
    buildArgs: values['build-arg'] ?? [],
    ca: values.ca,
    output: resolve(values.output ?? 'release'),
    plainHttp: values['plain-http'] ?? false,
    dryRun: values['dry-run'] ?? false,
  };
  if (!/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(options.registry))
    throw new ReleaseError(`--registry must be a host with an optional path, without a scheme.\n\n${usage}`);
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(options.version))
    throw new ReleaseError(`--version must be one such as 1.2.3 or 1.2.3-rc.1.\n\n${usage}`);
  return options;
}

function valuesOf(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const repeated = { type: 'string', multiple: true } as const;
  const plain = { registry: text, version: text, ca: text, output: text };
  const options = { ...plain, 'build-arg': repeated, 'plain-http': flag, 'dry-run': flag };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new ReleaseError(`${error instanceof Error ? error.message : ''}\n\n${usage}`);
  }
}

function requireTools(): void {
  const missing = Object.entries(tools).filter(([name]) => onPath(name) === undefined);
  if (missing.length === 0) return;
  throw new ReleaseError(
    missing.map(([name, site]) => `${name} is not on the PATH; install it (${site}).`).join('\n'),
  );
}

/** Runs a program, and passes on what it prints to the standard error. */
const run = (command: string, args: readonly string[], cwd = root): void =>
  void execFileSync(command, args, { cwd, stdio: ['ignore', 2, 2] });

const outputOf = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
    maxBuffer: 1 << 26,
  }).trim();

const say = (line: string) => process.stdout.write(`${line}\n`);

/** The commit, marked where the files differ from it. */
function revision(): string {
  const changed = outputOf('git', ['status', '--porcelain']) !== '';
  return `${outputOf('git', ['rev-parse', 'HEAD'])}${changed ? '-changed' : ''}`;
}

/** Builds one image of all platforms into an OCI layout, and returns its digest. */
function buildImage({ output, version, buildArgs, ca }: Options, work: string): string {
  say(`building the image for ${platforms.join(' and ')}`);
  const list = `localhost/tessera-release-${process.pid}`;
  // Older versions of buildah do not know the platform that they run on.
  const builder = `BUILDPLATFORM=linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const stated = [builder, `VERSION=${version}`, `REVISION=${revision()}`, ...buildArgs];
  const layout = join(output, 'image');
  const digest = join(work, 'digest');
  rmSync(layout, { recursive: true, force: true });
  try {
    const what = ['--platform', platforms.join(','), '--manifest', list, '--layers', '--format', 'oci'];
    run('buildah', [
      'build',
      ...what,
      ...stated.flatMap((each) => ['--build-arg', each]),
      ...(ca === undefined ? [] : ['--secret', `id=ca,src=${resolve(ca)}`]),
      '.',
    ]);
    const target = `oci:${layout}:${version}`;
    run('buildah', ['manifest', 'push', '--all', '--format', 'oci', '--digestfile', digest, list, target]);
  } finally {
    run('buildah', ['manifest', 'rm', list]);
  }
  return readFileSync(digest, 'utf8').trim();
}

/** Writes the bill of materials, and attaches it to the image as its referrer. */
function attachBill({ output }: Options, digest: string): void {
  say('writing the bill of materials');
  const text = outputOf(process.execPath, [join(root, 'deploy/image/sbom.ts')]);
  writeFileSync(join(output, bill.file), `${text}\n`);
  const type = ['--artifact-type', bill.type];
  run('oras', ['attach', '--oci-layout', ...type, `image@${digest}`, `${bill.file}:${bill.type}`], output);
}

/** Packages the chart with the name and the digest of the image in its values. */
function packageChart({ output, registry, version }: Options, work: string, digest: string): void {
  const chart = join(work, 'tessera');
  cpSync(join(root, 'deploy/helm/tessera'), chart, { recursive: true });
  const file = join(chart, 'values.yaml');
  const values = readFileSync(file, 'utf8')
    .replace('\n  repository: tessera\n', `\n  repository: ${registry}/tessera\n`)
    .replace("\n  digest: ''\n", `\n  digest: ${digest}\n`);
  if (!values.includes(` ${registry}/tessera\n`) || !values.includes(` ${digest}\n`))
    throw new Error('The values of the chart have another form than this command expects.');
  writeFileSync(file, values);
  const versions = ['--version', version, '--app-version', version];
  run('helm', ['package', chart, ...versions, '--destination', output]);
}

/** Packs the command line, and returns the file. */
function packCommandLine({ output, version }: Options, work: string): string {
  say('packing the command line');
  const folder = join(work, 'cli');
  run(process.execPath, [join(root, 'scripts/pack-cli.ts'), folder, version]);
  return outputOf('npm', ['pack', folder, '--pack-destination', output]).split('\n').at(-1) ?? '';
}

function push({ output, registry, version, plainHttp }: Options): void {
  say(`pushing to ${registry}`);
  const image = ['--from-oci-layout', `image:${version}`, `${registry}/tessera:${version}`];
  run('oras', ['cp', '--recursive', ...(plainHttp ? ['--to-plain-http'] : []), ...image], output);
  const chart = [`tessera-${version}.tgz`, `oci://${registry}/charts`];
  run('helm', ['push', ...(plainHttp ? ['--plain-http'] : []), ...chart], output);
}

function release(options: Options): void {
  const { output, registry, version } = options;
  mkdirSync(output, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'tessera-release-'));
  try {
    const digest = buildImage(options, work);
    attachBill(options, digest);
    packageChart(options, work, digest);
    const packed = packCommandLine(options, work);
    writeFileSync(join(output, 'digest'), `${digest}\n`);
    if (!options.dryRun) push(options);
    say(`image: ${registry}/tessera:${version}@${digest}`);
    say(`chart: oci://${registry}/charts/tessera, version ${version}`);
    say(`command line: npm publish ${join(output, packed)} --registry <your registry>`);
    if (options.dryRun) say(`Nothing was pushed; everything is in ${output}.`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

try {
  const options = optionsOf(process.argv.slice(2));
  requireTools();
  release(options);
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
