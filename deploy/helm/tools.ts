import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { provideExecutable } from '../../libs/test-kit/src/provision/executable.ts';
import { writeSchemas } from './schemas.ts';

/**
 * Pinned, so that the same chart is accepted everywhere alike. Templates are tested with Helm 3, clusters with Helm 4.
 */
const tools = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  'helm-4': 'helm.sh/helm/v4/cmd/helm@v4.3.1',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
  promtool: 'github.com/prometheus/prometheus/cmd/promtool@v0.315.0',
  oras: 'oras.land/oras/cmd/oras@v1.3.6',
} as const;

/** The oldest and the newest Kubernetes that the chart supports, as the modules that carry their OpenAPI documents. */
const kubernetes = {
  '1.30.14': 'k8s.io/kubernetes@v1.30.14',
  '1.36.3': 'k8s.io/kubernetes@v1.36.3',
} as const;

/** Where the definitions of custom resources are, below the module. */
const customResources = {
  'sigs.k8s.io/gateway-api@v1.2.1': 'config/crd/standard',
  'github.com/cert-manager/cert-manager@v1.21.2': 'deploy/crds',
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': 'example/prometheus-operator-crd',
} as const;

const cache = join(dirname(dirname(import.meta.dirname)), 'node_modules', '.cache', 'tessera-deploy');

export interface ProvidedTools {
  /**
   * Handed to the tests: `TESSERA_TEST_HELM`, `TESSERA_TEST_KUBECONFORM`, `TESSERA_TEST_PROMTOOL`,
   * `TESSERA_TEST_SCHEMAS` and so on.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** What tests will be left out for. */
  readonly missing: readonly string[];
  /** For people: where each tool comes from, or how to get it. */
  readonly notes: readonly string[];
}

/**
 * Helm, oras, kubeconform, promtool and the schemas it is to hold manifests against: from the PATH, from an earlier
 * run, or by Go. buildah and a registry: from the PATH or by apt.
 */
export function provideTools(environment: Readonly<Record<string, string | undefined>>): ProvidedTools {
  const provided: Record<string, string> = {};
  const missing: string[] = [];
  const notes: string[] = [];
  const provide = (name: string, key: string, find: () => string): void => {
    try {
      const path = find();
      provided[key] = path;
      notes.push(`${name}: ${path}`);
    } catch (error) {
      missing.push(name);
      const reason = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
      notes.push(`${name} is not there and cannot be installed: ${reason}`);
    }
  };
  for (const name of ['helm', 'kubeconform', 'promtool', 'oras'] as const) {
    provide(name, `TESSERA_TEST_${name.toUpperCase()}`, () => executable(name, environment['PATH'] ?? ''));
  }
  for (const [name, aptPackage] of [
    ['buildah', 'buildah'],
    ['registry', 'docker-registry'],
  ] as const) {
    const need = { names: [aptPackage, name], aptPackage, advice: `Put ${aptPackage} on the PATH.` };
    provide(name, `TESSERA_TEST_${name.toUpperCase()}`, () => provideExecutable(need));
  }
  provide('Kubernetes schemas', 'TESSERA_TEST_SCHEMAS', () => schemas());
  return { environment: provided, missing, notes };
}

/**
 * Helm 4, which applies on the server side: from the PATH, where it may be another version, from an earlier run, or by
 * Go.
 */
export function provideHelm(environment: Readonly<Record<string, string | undefined>>): string {
  return executable('helm-4', environment['PATH'] ?? '');
}

function executable(name: keyof typeof tools, path: string): string {
  const [, file = '', version = ''] = /([^/]+)@(.+)$/.exec(tools[name]) ?? [];
  const onPath = path.split(':').find((directory) => existsSync(join(directory, file)));
  if (onPath !== undefined) return join(onPath, file);
  const bin = join(cache, 'bin', version);
  if (!existsSync(join(bin, file))) {
    build(name, join(bin, file));
  }
  return join(bin, file);
}

/** In a module of its own: Go installs no package directly whose module replaces others, as that of promtool does. */
function build(name: keyof typeof tools, target: string): void {
  const module = join(cache, 'modules', name);
  rmSync(module, { recursive: true, force: true });
  mkdirSync(module, { recursive: true });
  mkdirSync(dirname(target), { recursive: true });
  const go = (...args: string[]) => execFileSync('go', args, { cwd: module, stdio: 'pipe' });
  const startedAt = performance.now();
  const say = (what: string) =>
    process.stderr.write(`${name}: ${what} (${Math.round((performance.now() - startedAt) / 1000)} s)\n`);
  say('not on the PATH. Go builds it once, which takes some minutes: downloading its modules');
  go('mod', 'init', 'tools');
  go('get', tools[name]);
  say('compiling');
  go('build', '-o', target, tools[name].replace(/@.*$/, ''));
  say('built');
}

function schemas(): string {
  const target = join(cache, 'schemas');
  const crds = Object.entries(customResources).map(([module, path]) => ({
    module,
    find: () => join(moduleDirectory(module), path),
  }));
  for (const [version, module] of Object.entries(kubernetes)) {
    const openapi = () => join(moduleDirectory(module), 'api', 'openapi-spec', 'swagger.json');
    writeSchemas(join(target, version), { module, find: openapi }, crds);
  }
  return target;
}

/** A module of Go as files; nothing of it is built. */
function moduleDirectory(module: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], {
    encoding: 'utf8',
    stdio: 'pipe',
    cwd: cache,
  });
  const { Dir: directory } = JSON.parse(answer) as { Dir?: string };
  if (directory === undefined) throw new Error(`${module} could not be downloaded`);
  return directory;
}
