import type { Terminal } from '../../terminal.ts';
import type { Entry, Imported, ImportedRecords } from '../files/imported.ts';
import { printable } from '../files/printable.ts';

/** What became of an import, each with a line. */
export interface ImportLists {
  /** Resources, and applications that work or are disabled where they come from, too. */
  readonly arrived: readonly string[];
  /** How many of each kind came, such as `3 applications`. */
  readonly counts: readonly string[];
  /** What remains to be done by hand. */
  readonly toDo: readonly string[];
  readonly leftOut: readonly string[];
}

type BaseRecords = Omit<ImportedRecords, 'users'>;

/** What the lists are made of. */
interface Parts {
  readonly imported: Imported;
  readonly base: BaseRecords;
  /** How many people come. */
  readonly people: number;
  readonly leftOut: Iterable<string>;
  /** Why an application gets a new secret, by its identifier. */
  readonly secretsFor: ReadonlyMap<string, string>;
  /** Applications that are disabled here and stay so. */
  readonly stayDisabled: ReadonlySet<string>;
}

/** Each line once: what is to be done for an application is one line. */
export function listsOf({ imported, base, people, leftOut, secretsFor, stayDisabled }: Parts): ImportLists {
  const toDo = new Map((imported.toDo ?? []).map((each) => [each.clientId, each]));
  const arrived: string[] = [];
  const lines = [...(imported.toDoOfTenant ?? [])];
  for (const application of base.applications) {
    const clientId = String(application['clientId']);
    const { disabledFor = [], what = [] } = toDo.get(clientId) ?? {};
    const lacks = secretsFor.get(clientId);
    const parts = [
      ...(disabledFor.length === 0 ? [] : [`comes disabled: ${disabledFor.join('; ')}`]),
      ...(lacks === undefined ? [] : [`has a new secret, as ${lacks}`]),
      ...what,
    ];
    if (parts.length > 0) lines.push(`application ${clientId}: ${parts.join('; ')}`);
    if (disabledFor.length > 0) continue;
    const isOff = application['status'] === 'disabled' || stayDisabled.has(clientId);
    arrived.push(`application ${clientId}${isOff ? ', disabled as before' : ''}`);
  }
  const counts = countsOf(base, arrived.length, people);
  const resources = base.resources.map(({ audience }) => `resource ${String(audience)}`);
  const providers = base.providers?.map(({ name }) => `identity provider ${String(name)}`) ?? [];
  return { arrived: [...arrived, ...resources, ...providers], counts, toDo: lines, leftOut: [...leftOut] };
}

function countsOf({ resources, roles }: BaseRecords, applications: number, people: number): string[] {
  const counted: readonly (readonly [count: number, one: string, many: string])[] = [
    [applications, 'application', 'applications'],
    [resources.length, 'resource', 'resources'],
    [roles.length, 'role', 'roles'],
    [people, 'person', 'people'],
  ];
  return counted.flatMap(([count, one, many]) =>
    count === 0 ? [] : [`${count} ${count === 1 ? one : many}`],
  );
}

/** How far an import came: `begun` if it stopped after a part of it was applied. */
export type Stage = 'applied' | 'begun' | 'checked';

/** What is said of that which comes. */
export const comingAt: Readonly<Record<Stage, string>> = {
  applied: 'Arrived',
  begun: 'To arrive in all',
  checked: 'Would arrive',
};

/** Prints the lists, which end what an import has to say. */
export function printLists(
  { arrived, counts, toDo, leftOut }: ImportLists,
  stage: Stage,
  { out }: Pick<Terminal, 'out'>,
): void {
  const line = (text: string) => out(`${printable(text)}\n`);
  const label = comingAt[stage].toLowerCase();
  line(`${comingAt[stage]}: ${counts.length === 0 ? 'nothing' : counts.join(', ')}`);
  for (const each of arrived) line(`${label}: ${each}`);
  line(`To do by you: ${toDo.length}`);
  for (const each of toDo) line(`to do: ${each}`);
  line(`Left out: ${leftOut.length}`);
  for (const each of leftOut) line(`left out: ${each}`);
}

/** The applications of an import that are not disabled. */
export function enabledOf(
  { applications }: BaseRecords,
  stayDisabled: ReadonlySet<string>,
): readonly Entry[] {
  return applications.filter(
    ({ clientId, status }) => status !== 'disabled' && !stayDisabled.has(String(clientId)),
  );
}
