/**
 * `npm run generate:chart`: writes what the chart repeats from elsewhere. README.md from values.yaml, and in
 * values.schema.json the names of the settings that `config` takes, from the server. A test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, parseDocument, stringify, type YAMLMap } from 'yaml';
import { knownSettings } from '@tessera/process';

const chart = join(import.meta.dirname, 'tessera');
const read = (name: string) => readFileSync(join(chart, name), 'utf8');

/** Settings that the chart itself gives to the processes, or that have no place in a pod. */
const givenByChart =
  /^TESSERA_(ISSUER|PROFILE|MIGRATIONS|(MANAGEMENT|DRAIN|RPC|PEER)_.*|HTTP_(HOST|PORT)|TRUSTED_(PROXIES|CALLERS)|INTROSPECTION_(HOST|PORT)|KEYS_KEK|DIRECTORY_PEPPER|TOKEN_REFRESH_KEYS|DEVICE_HMAC_KEY|WEBHOOK_KEY|REDIS_(CA|CERT|KEY|SENTINEL_PASSWORD)|APPLY_(FILE|ALLOW_DELETE)|DATA_DIR|FAILPOINT)$/;

interface Schema {
  readonly $defs: { readonly settings: { properties: Record<string, unknown> } };
}

/** values.schema.json with the settings of the server as it is. */
export function schema(): string {
  const document = JSON.parse(read('values.schema.json')) as Schema;
  const names = knownSettings.filter((name) => !givenByChart.test(name));
  document.$defs.settings.properties = Object.fromEntries(
    names.map((name) => [name, { type: ['string', 'number', 'boolean'] }]),
  );
  return `${JSON.stringify(document, null, 2)}\n`;
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
}
