import { importRules, services } from '../import-rules.ts';
import { copies } from './copies.ts';
import {
  clean,
  declared,
  drawn,
  expires,
  floor,
  imports,
  lint,
  normalizes,
  reaches,
  tests,
  type Plant,
} from './plant.ts';

const neighbour = (service: string) => services[(services.indexOf(service) + 1) % services.length];

/** The import rules and what protocol code may not reach for. */
const boundaries: readonly Plant[] = [
  ...importRules
    .flatMap(({ folders }) => folders)
    .filter((folder) => folder !== 'libs/proto-gen')
    .map((folder) =>
      imports(`${folder.includes('/src') ? folder : `${folder}/src`}/canary-import.ts`, '@tessera/unlisted'),
    ),
  ...services.flatMap((service) => [
    imports(`libs/${service}/src/canary-peer.ts`, `@tessera/${neighbour(service)}`),
    imports(`apps/${service}/src/canary-peer.ts`, `@tessera/${neighbour(service)}`),
    imports(`libs/${service}/src/canary-bytes.ts`, 'node:crypto', 'randomBytes'),
    imports(`libs/${service}/src/canary-outside.ts`, 'node:https', 'request'),
    lint(
      `libs/${service}/src/canary-fetch.ts`,
      "export const f = () => fetch('https://a.example');",
      /no-restricted-globals/,
    ),
    reaches(`libs/${service}/src/canary-now.ts`, 'Date.now()'),
    reaches(`libs/${service}/src/canary-chance.ts`, 'Math.random()'),
    normalizes(`libs/${service}/src/canary-normalize.ts`),
    normalizes(`apps/${service}/src/canary-normalize.ts`),
  ]),
  ...[
    'admin-client',
    'audit',
    'directory-client',
    'introspection-client',
    'kit',
    'oauth',
    'people',
    'process',
    'rpc',
    'stores',
    'telemetry',
  ].map((lib) => normalizes(`libs/${lib}/src/canary-normalize.ts`)),
  imports('libs/directory-client/src/canary-peer.ts', '@tessera/directory'),
  imports('libs/directory/src/canary-people.ts', '@tessera/people'),
  imports('libs/people/src/canary-peer.ts', '@tessera/token'),
  imports('libs/people/src/canary-bytes.ts', 'node:crypto', 'randomBytes'),
  imports('libs/people/src/canary-outside.ts', 'node:https', 'request'),
  imports('libs/people/src/canary-deep.ts', '@tessera/directory/store'),
  imports('libs/kit/src/canary-room.ts', '@tessera/telemetry'),
  imports('libs/telemetry/src/canary-room.ts', '@tessera/stores'),
  imports('libs/rpc/src/canary-room.ts', '@tessera/stores'),
  imports('libs/stores/src/canary-room.ts', '@tessera/rpc'),
  imports('libs/audit/src/canary-room.ts', '@tessera/process'),
  imports('libs/delivery/src/canary-room.ts', '@tessera/stores'),
  imports('libs/languages/src/canary-room.ts', '@tessera/kit'),
  imports('libs/pages/src/canary-room.ts', '@tessera/rpc'),
  imports('libs/outbound/src/canary-room.ts', '@tessera/telemetry'),
  imports('libs/process/src/canary-service.ts', '@tessera/keys'),
  imports('libs/test-kit/src/canary-service.ts', '@tessera/keys'),
  imports('libs/test-kit/src/canary-room.ts', '@tessera/rpc'),
  imports('libs/token/src/canary-fake.ts', '@tessera/directory-client/testing'),
  imports('libs/token/src/canary-fake-client.ts', '@tessera/rpc/testing'),
  imports('apps/standalone/src/canary-other.ts', '@tessera/directory-client'),
  imports('apps/cli/src/canary-other.ts', '@tessera/directory-client'),
  imports('tools/e2e/src/canary-inside.ts', '@tessera/keys'),
  imports('tools/chaos/src/canary-inside.ts', '@tessera/token'),
  imports('tools/bench/src/canary-inside.ts', '@tessera/token'),
  imports('tools/cluster/src/canary-inside.ts', '@tessera/keys'),
  imports('libs/oauth/src/canary-ours.ts', '@tessera/kit'),
  imports('libs/oauth/src/canary-files.ts', 'node:fs'),
  imports('libs/oauth/src/canary-net.ts', 'node:fs/promises'),
  imports('libs/oauth/src/canary-bytes.ts', 'node:crypto', 'randomBytes'),
  reaches('libs/oauth/src/canary-chance.ts', 'Math.random()'),
  lint('libs/oauth/src/canary-now.ts', 'export const now = () => new Date();', /no-restricted-globals/),
  lint(
    'libs/oauth/src/canary-environment.ts',
    'export const all = () => process.env;',
    /no-restricted-globals/,
  ),
];

const rules: readonly Plant[] = [
  lint(
    'libs/kit/src/canary-floating.ts',
    'export const f = (p: Promise<void>) => { p; };',
    /no-floating-promises/,
  ),
  lint(
    'libs/kit/src/canary-misused.ts',
    'export const f = (p: Promise<number>) => (p ? 1 : 2);',
    /no-misused-promises/,
  ),
  lint('libs/kit/src/canary-any.ts', 'export const f = (value: any): unknown => value;', /no-explicit-any/),
  lint('libs/kit/src/canary-equal.ts', 'export const f = (a: unknown, b: unknown) => a == b;', /eqeqeq/),
  lint('libs/kit/src/canary-console.ts', "export const f = () => console.log('x');", /no-console/),
  lint('libs/kit/src/canary-environment.ts', "export const f = () => process.env['HOME'];", /no-process-env/),
  lint(
    'libs/kit/src/canary-cycle-a.ts',
    "import { b } from './canary-cycle-b.ts';\nexport const a = () => b;",
    /no-cycle/,
  ),
  lint(
    'libs/kit/src/canary-cycle-b.ts',
    "import { a } from './canary-cycle-a.ts';\nexport const b = () => a;",
    /no-cycle/,
  ),
  lint(
    'libs/kit/src/canary-cycle-c.ts',
    "import type { D } from './canary-cycle-d.ts';\nexport type C = D | 'c';",
    /no-cycle/,
  ),
  lint(
    'libs/kit/src/canary-cycle-d.ts',
    "import type { C } from './canary-cycle-c.ts';\nexport type D = C | 'd';",
    /no-cycle/,
  ),
  lint('libs/kit/src/canary-effect.ts', "import 'node:fs';", /no-unassigned-import/),
  lint('libs/kit/src/canary-throw.ts', "export const f = () => { throw 'text'; };", /only-throw-error/),
];

const types: readonly Plant[] = [
  {
    guard: 'typecheck',
    path: 'libs/oauth/src/canary-type.ts',
    text: "export const n: number = 'x';",
    expect: /TS2322/,
  },
  {
    guard: 'typecheck',
    path: 'libs/oauth/src/canary-enum.ts',
    text: 'export enum E { A }',
    expect: /TS1294/,
  },
  {
    guard: 'typecheck',
    path: 'libs/oauth/src/canary-index.ts',
    text: 'export const f = (list: string[]): string => list[0];',
    expect: /TS2322/,
  },
  {
    guard: 'typecheck',
    path: 'libs/telemetry/src/canary-log-key.ts',
    text: "import type { Logger } from '@tessera/telemetry';\nexport const f = (log: Logger, error: Error) => log.warn({ error }, 'x');",
    expect: /TS2769/,
  },
];

const packages: readonly Plant[] = [
  declared('libs/oauth/src/canary-undeclared.ts', "import 'pg';", /does not declare/),
  declared('libs/oauth/src/canary-border.ts', "import '../../kit/src/clock.ts';", /outside its package/),
  declared('libs/token/src/canary-test-kit.ts', "import '@tessera/test-kit';", /does not declare/),
  declared('libs/oauth/src/canary-prefix.ts', "import 'crypto';", /prefix node:/),
  {
    guard: 'packages',
    path: 'libs/keys/package.json',
    edit: (before) => before.replace(/"zod": "/, '"zod": "^'),
    expect: /no exact version/,
  },
];

const unused: readonly Plant[] = [
  {
    guard: 'unused',
    path: 'apps/token/package.json',
    edit: (before) => before.replace('"dependencies": {', '"dependencies": { "lru-cache": "11.5.3",'),
    expect: /lru-cache/,
  },
];

const hygiene: readonly Plant[] = [
  clean('docs/canary-path.md', ['See /home', 'somebody'].join('/'), /path of one machine/),
  clean('deploy/canary-key.pem', ['-----BEGIN', 'PRIVATE KEY-----\nMIIE'].join(' '), /private key/),
  clean('deploy/canary-access.yaml', `key: AKIA${'A'.repeat(16)}`, /access key/),
  clean('tools/e2e/.npmrc', ['//registry.example/:_auth', 'Token=x'].join(''), /registry credentials/),
  clean('libs/kit/src/canary-off.ts', ['// oxlint', 'disable eqeqeq'].join('-'), /check switched off/),
  clean('libs/kit/src/canary-wide.ts', `// ${'wide '.repeat(24)}.`, /wider than 120 columns/),
  clean('libs/kit/src/canary-later.ts', ['// TO', 'DO: all of it'].join(''), /work put off/),
  ...copies.map(([path, text, expect]) => clean(path, text, expect)),
  {
    guard: 'hygiene',
    path: 'package-lock.json',
    edit: (before) => before.replace('"resolved": "', '"resolved": "https://registry.example/'),
    expect: /host of a registry/,
  },
];

const compatibility: readonly Plant[] = [
  expires('libs/kit/src/canary-due.ts', '// Compatibility until 0.1: for version 0.0.', /until 0\.1 is due/),
  expires('libs/kit/src/canary-endless.ts', '/** For the previous version. */', /not until when/),
];

const folders: readonly Plant[] = [
  floor('libs/stores/src/feed/canary-above.ts', "import '../postgres/directory-lock.ts';", /a floor above/),
  floor('libs/keys/src/canary/canary-nowhere.ts', '', /no place in the row/),
];

const drawings: readonly Plant[] = [
  drawn('libs/audit/src/index.ts', /^ \* {5}.*\n/gm, '', /has no drawing/),
  drawn('libs/device/src/index.ts', 'polling/', 'canary/', /draws canary,/),
  drawn(
    'docs/architecture.md',
    'directory -->|SMTP|',
    'keys -->|SMTP|',
    /keys --> SMTP, which nothing opens/,
  ),
  {
    guard: 'drawings',
    path: 'libs/gateway/src/canary-outward.ts',
    text: 'export const canary = createSend({ allowPrivate: false });\n',
    expect: /opens gateway --> HTTPS/,
  },
  {
    guard: 'drawings',
    path: 'libs/kit/src/canary/audit-batch.ts',
    text: 'export const canary = 1;\n',
    expect: /have the same name/,
  },
];

const protos: readonly Plant[] = [
  {
    guard: 'proto-lint',
    path: 'proto/tessera/keys/v1/canary.proto',
    text: 'syntax = "proto3";\npackage tessera.keys.v1;\nmessage bad_name {\n  string BadField = 1;\n}\n',
    expect: /PascalCase/,
  },
  {
    guard: 'proto-breaking',
    path: 'proto/tessera/keys/v1/keys.proto',
    edit: (before) => before.replace(/^ {2}string (\w+) = (\d+);/m, '  fixed64 $1 = $2;'),
    expect: /changed type/,
  },
  {
    guard: 'generated',
    path: 'libs/proto-gen/src/tessera/token/v1/token_pb.ts',
    edit: (before) => `${before}\nexport const canary = 1;\n`,
    expect: /not what the protos say/,
  },
  {
    guard: 'generated',
    path: '.oxlintrc.imports.json',
    edit: (before) => `${before}\n`,
    expect: /not what .*import-rules\.ts says/,
  },
  {
    guard: 'generated',
    path: 'libs/directory/README.md',
    edit: (before) => before.replace(/^\| `clientId` .*\n/m, ''),
    expect: /not what the tables of fields/,
  },
];

const others: readonly Plant[] = [
  { guard: 'format', path: 'scripts/canary-format.ts', text: 'export const  a=1', expect: /warn/ },
  tests('skipped', "test.skip('a', () => undefined);", /counts as failed/),
  tests('put-off', "test.todo('a');", /counts as failed/),
  tests('chosen', "test.only('a', () => undefined);", /FAIL/),
  tests('left-out', "test('a', (context) => context.skip());", /counts as failed/),
];

/** The violations that the canaries plant, at least one for each guard. */
export const plants: readonly Plant[] = [
  ...boundaries,
  ...rules,
  ...types,
  ...packages,
  ...unused,
  ...hygiene,
  ...compatibility,
  ...folders,
  ...drawings,
  ...protos,
  ...others,
];
