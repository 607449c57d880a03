/**
 * Which package may import which of ours: one row for a folder. `npm run generate` writes them as rules of oxlint, and
 * the canaries plant a forbidden import for each row.
 */
import { filesMatching } from './files.ts';
import { format, resolveConfig } from 'prettier';

/** The rules as `.oxlintrc.json` includes them. */
export const importRulesFile = '.oxlintrc.imports.json';

export interface ImportRule {
  /** Folders of packages, or folders in one; a later row takes precedence. */
  readonly folders: readonly string[];
  /** What may be imported, without the scope; `/*` stands for subpaths. */
  readonly may: readonly string[];
  /** Why not the others. */
  readonly message: string;
  /** Imports that are forbidden too, whatever they are. */
  readonly never?: readonly string[];
  /** Where randomness comes from instead of `node:crypto`. Tests make their own. */
  readonly randomness?: string;
  /** Who sends HTTP requests instead. Tests send their own. */
  readonly outside?: string;
  /** The only modules of Node that may be imported. */
  readonly node?: readonly string[];
  /** What tests may import, if not the same. */
  readonly tests?: readonly string[];
}

const tests = ['test-kit', 'test-kit/*'];
const messages = ['proto-gen', 'proto-gen/*'];
const telemetry = ['telemetry', 'telemetry/*'];
const processes = [
  'kit',
  'telemetry',
  'rpc',
  'rpc/caller',
  'rpc/stretches',
  'stores',
  'audit',
  'process',
  'process/settings',
  ...messages,
  ...tests,
];
export const services = ['admin', 'authorize', 'device', 'directory', 'gateway', 'keys', 'token'];

const ofServices = ['oauth', 'directory-client', 'delivery', 'languages', 'outbound', 'pages', ...processes];
const testsOfServices = [
  'oauth',
  'directory-client',
  'directory-client/testing',
  'languages',
  'pages',
  'pages/testing',
  'rpc/testing',
  ...processes,
];
const handed = {
  randomness: 'Randomness comes from kit.random.',
  outside: 'Only libs/outbound fetches from addresses that others chose.',
};
/** What the room of people may import of that of records, in the same process and schema. */
const records = ['directory', 'directory/ground', 'directory/records'];
/** The rooms of a process, in addition to the service that it is called after. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  directory: ['people'],
  admin: ['console'],
};

export const importRules: readonly ImportRule[] = [
  {
    folders: ['libs/oauth'],
    may: ['oauth', 'test-kit'],
    message: 'libs/oauth imports nothing of ours, and does no input or output.',
    randomness: 'The protocol rules are handed their randomness.',
    node: ['node:crypto'],
  },
  { folders: ['libs/kit'], may: tests, message: 'libs/kit imports nothing of ours.' },
  { folders: ['libs/proto-gen'], may: [], message: 'libs/proto-gen imports nothing of ours.' },
  plumbing('telemetry', ['kit', 'oauth', ...messages]),
  plumbing('rpc', ['kit', ...telemetry, 'oauth', ...messages]),
  plumbing('stores', ['kit', ...telemetry, 'oauth']),
  plumbing('audit', ['oauth', 'kit', ...telemetry, 'rpc', 'stores', ...messages]),
  plumbing('outbound', []),
  plumbing('languages', []),
  plumbing('pages', ['kit', 'languages', 'oauth']),
  plumbing('delivery', ['kit', ...telemetry, 'outbound']),
  plumbing('process', [
    'kit',
    ...telemetry,
    'rpc',
    'rpc/*',
    'stores',
    'stores/store-urls',
    'audit',
    'oauth',
    ...messages,
  ]),
  {
    folders: ['libs/test-kit'],
    may: ['kit', 'telemetry', 'telemetry/start', 'stores', 'test-kit'],
    message: 'libs/test-kit imports kit, telemetry and stores.',
  },
  {
    folders: ['libs/test-client'],
    may: tests,
    message: 'libs/test-client sees the system from outside: it imports the test kit.',
  },
  {
    folders: [...services, 'directory-client'].map((name) => `libs/${name}`),
    may: ofServices,
    message: 'Services import oauth, directory-client and the plumbing, never one another: ask by RPC.',
    ...handed,
    tests: testsOfServices,
  },
  {
    folders: ['libs/console'],
    may: [...ofServices, 'audit/what-to-change', 'pages/plot'],
    message: 'libs/console is an application: it calls the administration API, and imports no service.',
    ...handed,
    tests: [...testsOfServices, 'pages/plot'],
  },
  {
    folders: ['libs/people'],
    may: [...records, ...ofServices],
    message:
      'libs/people is a room of the process directory: it imports the room of records, its ground, and what services import.',
    ...handed,
    tests: [...records, 'directory/testing', ...testsOfServices],
  },
  {
    folders: ['libs/rpc/src/access'],
    may: ['kit', ...telemetry, 'oauth', ...messages, ...tests],
    message: 'The check of the caller knows no host and no client.',
    never: ['../hosts/**', '../client/**'],
  },
  {
    folders: ['libs/rpc/src/client/channel'],
    may: [],
    message: 'Services of others install these files: they import nothing else of ours.',
    never: ['pino', '../*'],
  },
  {
    folders: ['libs/introspection-client'],
    may: [
      ...messages,
      'kit/follow-stream',
      'oauth/client-assertion',
      'oauth/signing-algorithms',
      'rpc/client',
      'rpc/client/*',
    ],
    message:
      'Services of others install this: it imports the messages, the gRPC client, `followStream`, assertions and the signing algorithms, and nothing else of ours.',
    tests: processes,
  },
  {
    folders: ['libs/admin-client'],
    may: [...messages, 'introspection-client/access-token-source'],
    message:
      'Programs of others install this: it imports the messages and the source of access tokens, and nothing else of ours.',
  },
  ...services.map((service) => ({
    folders: [`apps/${service}`],
    may: [service, ...(rooms[service] ?? []), ...processes],
    message:
      'A process imports its own service and the plumbing; only standalone and the command import several.',
  })),
  {
    folders: ['apps/standalone'],
    may: [...services, 'people', 'console', ...processes, 'oauth'],
    message: 'standalone imports services, the plumbing and the vocabulary of the protocol.',
    tests: [
      ...services,
      'directory/testing',
      'people',
      'console',
      'console/testing',
      'pages/testing',
      ...processes,
      'oauth',
    ],
  },
  {
    folders: ['apps/cli'],
    may: [
      ...services,
      'admin/command',
      'audit/what-to-change',
      'directory/apply-file',
      'directory/json-schema',
      'directory/stored-secrets',
      'people',
      ...processes,
      'telemetry/for-people',
      'rpc/remote',
      'oauth',
      'languages',
    ],
    message: 'The command imports the services that it operates, and the plumbing.',
  },
  {
    folders: ['apps/controller'],
    may: ['admin-client', ...processes],
    message: 'The controller calls the administration API, as programs of others do: it imports no service.',
  },
  seesFromOutside('e2e', ['test-client', 'test-client/*', 'introspection-client', ...processes]),
  seesFromOutside('chaos', ['test-client', 'test-client/*', 'introspection-client', ...tests]),
  seesFromOutside('bench', ['test-client', ...messages, ...tests]),
  seesFromOutside('cluster', ['test-client', ...tests]),
];

function plumbing(name: string, may: readonly string[]): ImportRule {
  const others = may.filter((each) => !each.endsWith('/*'));
  return {
    folders: [`libs/${name}`],
    may: [...may, ...tests],
    message: `libs/${name} imports ${others.join(', ')}.`,
  };
}

function seesFromOutside(name: string, may: readonly string[]): ImportRule {
  return { folders: [`tools/${name}`], may, message: `tools/${name} sees the system from outside.` };
}

/** What of Node sends requests; `fetch` is restricted in `.oxlintrc.json`. */
const clients = [
  ['node:http', ['request', 'get']],
  ['node:https', ['request', 'get']],
  ['node:http2', ['connect']],
] as const;

const randomSources = ['randomBytes', 'randomUUID', 'randomInt', 'randomFill', 'randomFillSync', 'webcrypto'];

/** The rules for oxlint. Throws if a package has no row. */
export async function importRulesText(): Promise<string> {
  const ruled = new Set(importRules.flatMap(({ folders }) => folders));
  for (const manifest of filesMatching('{apps,libs,tools}/*/package.json')) {
    const folder = manifest.replace('/package.json', '');
    if (!ruled.has(folder)) throw new Error(`${folder} has no row in scripts/check/import-rules.ts`);
  }
  const text = `// Written by \`npm run generate\` from scripts/check/import-rules.ts.
${JSON.stringify({ overrides: importRules.flatMap(overridesOf) })}`;
  return format(text, { ...(await resolveConfig(importRulesFile)), parser: 'json' });
}

function overridesOf(rule: ImportRule): readonly object[] {
  const sources = rule.folders.map((folder) =>
    folder.includes('/src') ? `${folder}/**` : `${folder}/src/**`,
  );
  const ofTests = sources.map((files) => `${files}/{*.test.ts,*.contract.ts,contract/**,testing/**}`);
  const all = { files: sources, rules: restriction(rule) };
  if (rule.tests === undefined) return [all];
  const { randomness: _own, outside: _theirs, ...others } = rule;
  return [all, { files: ofTests, rules: restriction({ ...others, may: rule.tests }) }];
}

function restriction({ may, message, never = [], randomness, outside, node }: ImportRule): object {
  const group = ['@tessera/**', ...never, ...may.map((name) => `!@tessera/${name}`)];
  const ofNode = node && { group: ['node:*', 'node:*/**', ...node.map((name) => `!${name}`)], message };
  const paths = [
    ...(randomness ? [{ name: 'node:crypto', importNames: randomSources, message: randomness }] : []),
    ...(outside ? clients.map(([name, importNames]) => ({ name, importNames, message: outside })) : []),
  ];
  return {
    'no-restricted-imports': [
      'error',
      { ...(paths.length > 0 && { paths }), patterns: [{ group, message }, ...(ofNode ? [ofNode] : [])] },
    ],
  };
}
