import { ScalarType, type DescField } from '@bufbuild/protobuf';
import { Option } from 'commander';
import { timeOption } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { methodOf, type Noun } from './nouns.ts';

/** Of every list, and told apart. */
const ofPages = new Set(['tenantId', 'pageSize', 'pageToken', 'search']);

interface Told {
  readonly help: string;
  /** What its value is called; `text` by default. */
  readonly value?: string;
  readonly choices?: readonly string[];
}

const told: Readonly<Record<string, Told>> = {
  kind: {
    help: 'only of this kind',
    choices: ['single-page', 'native', 'web', 'device', 'approvals', 'service', 'api'],
  },
  owner: { help: 'only of this owner', value: 'name' },
  role: { help: 'only who has this role', value: 'name' },
  status: { help: 'only with this status', choices: ['active', 'disabled', 'locked'] },
  provider: { help: 'only who is linked with this provider', value: 'name' },
  notSignedInSince: { help: 'only who has not signed in since, such as 90d or 2026-01-31' },
  neverSignedIn: { help: 'only who never signed in' },
  invited: { help: 'only who has an invitation that works' },
};

/** A condition that a list of records takes, as an option. */
export interface ListOption {
  readonly field: DescField;
  readonly option: Option;
  /** As the request has it. Throws CommandError. */
  valueOf(given: unknown, terminal: Terminal): unknown;
}

/** The conditions of the list of a noun beyond a text, from its request. */
export function listOptions(noun: Noun): ListOption[] {
  const fields = methodOf(noun, 'list')?.input.fields ?? [];
  return fields.filter(({ localName }) => !ofPages.has(localName)).map(optionOf);
}

function optionOf(field: DescField): ListOption {
  const name = `--${field.name.replaceAll('_', '-')}`;
  const { help = '', value = 'text', choices } = told[field.localName] ?? {};
  if (field.fieldKind === 'message')
    return {
      field,
      option: new Option(`${name} <time>`, help),
      valueOf: (given, terminal) => timeOption(name, String(given), terminal),
    };
  const isFlag = field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL;
  const option = new Option(isFlag ? name : `${name} <${value}>`, help);
  return { field, option: choices ? option.choices(choices) : option, valueOf: (given) => given };
}
