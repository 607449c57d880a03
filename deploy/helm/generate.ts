/**
 * `npm run generate:chart`: writes what the chart repeats from elsewhere. README.md from values.yaml, in
 * values.schema.json the names of the settings that `config` takes, from the server, and the definitions of objects. A
 * test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, parse, parseDocument, stringify, type YAMLMap } from 'yaml';
import { knownSettings, removedSettings } from '@tessera/process';
import { customResources } from './custom-resources.ts';

const chart = join(import.meta.dirname, 'tessera');
const read = (name: string) => readFileSync(join(chart, name), 'utf8');

/** Settings that the chart itself gives to the processes, or that have no place in a pod. */
const givenByChart =
  /^TESSERA_(ISSUER|PROFILE|MIGRATIONS|(MANAGEMENT|DRAIN|RPC|PEER)_.*|PEERS|HTTP_(HOST|PORT)|TRUSTED_(PROXIES|CALLERS)|INTROSPECTION_(HOST|PORT)|ADMIN_(HOST|PORT)|OPERATOR_TENANT|KUBERNETES_.*|CONSOLE_(TOKEN_FILE|IDENTITY)|CONTROLLER_.*|API|API_CA_FILE|CLIENT_ASSERTION_FILE|KEYS_KEK|DIRECTORY_PEPPER|TOKEN_REFRESH_KEYS|DEVICE_HMAC_KEY|WEBHOOK_KEY|SMTP_URL|REDIS_(CA|CERT|KEY|TLS_DIR|SENTINEL_PASSWORD)|APPLY_(FILE|ALLOW|ALLOW_DELETE|ALLOW_ADMINISTRATION)|DATA_DIR|FAILPOINT)$/;

interface ObjectSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  required?: string[];
}

interface Schema extends ObjectSchema {
  readonly $defs: { readonly settings: { properties: Record<string, unknown> } };
}

/** Groups of values that are left out where they are `null`. */
const optionalGroups = new Set(['resources']);

/**
 * values.schema.json with the settings of the server as it is and those it ignores, and every group of values.yaml as
 * required: `null` is refused by name.
 */
export function schema(): string {
  const document = JSON.parse(read('values.schema.json')) as Schema;
  requireGroups(document, parse(read('values.yaml')) as Group);
  const names = [...knownSettings, ...Object.keys(removedSettings)]
    .filter((name) => !givenByChart.test(name))
    .toSorted();
  document.$defs.settings.properties = Object.fromEntries(
    names.map((name) => [name, { type: ['string', 'number', 'boolean'] }]),
  );
  return `${JSON.stringify(document, null, 2)}\n`;
}

type Group = Readonly<Record<string, unknown>>;

function requireGroups(schema: ObjectSchema, group: Group): void {
  const isGroup = (value: unknown): value is Group =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  const groups = Object.entries(group).filter(([name, value]) => isGroup(value) && !optionalGroups.has(name));
  if (groups.length > 0) schema.required = groups.map(([name]) => name).toSorted();
  for (const [name, value] of groups) {
    const below = schema.properties?.[name];
    if (below !== undefined && isGroup(value)) requireGroups(below, value);
  }
}

interface Row {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

/** README.md with a row for every value. */
export function readme(): string {
  const { contents } = parseDocument(read('values.yaml'));
  if (!isMap(contents)) throw new Error('values.yaml is no mapping.');
  const rows = rowsOf(contents, []).map(({ path, value, text }) => `| \`${path}\` | ${value} | ${text} |`);
  const table = ['| Value | Default | |', '| --- | --- | --- |', ...rows].join('\n');
  return read('README.md').replace(
    /(<!-- values -->\n)[^]*(\n<!-- end of values -->)/,
    (_all, before: string, after: string) => `${before}\n${table}\n${after}`,
  );
}

function rowsOf(map: YAMLMap, path: readonly string[]): Row[] {
  return map.items.flatMap((item, index) => {
    const { key, value } = item;
    if (!isScalar(key)) return [];
    // The comment above the first key of a mapping belongs to the mapping; that above the file's first key too.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? '';
    const text = (comment.split(/\n\s*\n/).at(-1) ?? '').replaceAll('\n', ' ').replaceAll('|', '\\|').trim();
    const here = [...path, String(key.value)];
    const row = { path: here.join('.'), value: '', text };
    if (isMap(value) && value.items.length > 0 && value.flow !== true) {
      return [...(text === '' ? [] : [row]), ...rowsOf(value, here)];
    }
    return [{ ...row, value: `\`${flow(value)}\`` }];
  });
}

/** A value on one line. */
function flow(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0, singleQuote: true })
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}

if (import.meta.main) {
  writeFileSync(join(chart, 'values.schema.json'), schema());
  writeFileSync(join(chart, 'README.md'), readme());
  writeFileSync(join(chart, 'custom-resources.yaml'), customResources());
}
