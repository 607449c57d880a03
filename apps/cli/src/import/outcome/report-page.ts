import type { Entry, Imported } from '../files/imported.ts';
import { printable } from '../files/printable.ts';
import { comingAt, type ImportLists, type Stage } from './import-lists.ts';
import type { PeopleCounts } from './people-counts.ts';

/** What a report says. It has no secret, no hash and no name of a person. */
export interface Report {
  readonly tenantId: string;
  /** In ISO 8601. */
  readonly time: string;
  readonly isDryRun: boolean;
  readonly stage: Stage;
  readonly lists: ImportLists;
  readonly applications: readonly Entry[];
  readonly toDo: Imported['toDo'];
  readonly people: PeopleCounts;
}

/** The first line of each report, by which it is told from other files. */
export const firstLine = '<!doctype html><!-- report of tessera import -->';

/** The report as one page without script, which loads nothing. */
export function reportPage(report: Report): string {
  const { tenantId, time, isDryRun, stage, lists, people } = report;
  const done = { applied: 'came', begun: 'are to come in all', checked: 'would come' }[stage];
  return `${firstLine}
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Import of ${escaped(tenantId)}</title>
<style>${style}</style></head><body>
<h1>Import of ${escaped(tenantId)}</h1>
<p>${escaped(time)}. ${stateOf({ isDryRun, stage })}</p>
<h2>Summary</h2>
<p>${escaped(lists.counts.length === 0 ? 'Nothing' : lists.counts.join(', '))} ${done}.
${lists.toDo.length} ${lists.toDo.length === 1 ? 'thing is' : 'things are'} to be done by you.
${lists.leftOut.length} ${lists.leftOut.length === 1 ? 'thing is' : 'things are'} left out.</p>
<h2>Applications</h2>
${tableOf(report)}
<h2>People</h2>
<table><tr><th scope="col">What they need</th><th scope="col">People</th></tr>
${row('nothing: they sign in as before', people.ready)}
${row('a link to set a password', people.withoutPassword)}
${row('to be enabled, as they are disabled', people.disabled)}
${row('all together', people.total)}</table>
${listOf(comingAt[stage], lists.arrived)}
${listOf('To do by you', lists.toDo)}
${listOf('Left out, and why', lists.leftOut)}
</body></html>
`;
}

/** Messages name people, so that none is here. */
function stateOf({ isDryRun, stage }: Pick<Report, 'isDryRun' | 'stage'>): string {
  if (isDryRun) return 'A dry run: nothing was changed.';
  return stage === 'applied' ? 'Applied.' : 'It stopped: what the command printed says why.';
}

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:start;vertical-align:top;border-block-end:1px solid #ccc;padding:.3rem .6rem .3rem 0}
li,td{overflow-wrap:anywhere}`;

function tableOf({ applications, toDo = [] }: Report): string {
  const ofClient = new Map(toDo.map((each) => [each.clientId, each]));
  const rows = applications.map((application) => {
    const clientId = String(application['clientId']);
    const isToDo = (ofClient.get(clientId)?.disabledFor ?? []).length > 0;
    const isOff = application['status'] === 'disabled';
    const state = isToDo ? 'disabled until something is done' : isOff ? 'disabled as before' : 'works';
    const cells = [clientId, application['name'], application['type'], textOf(application['grantTypes'])];
    const uris = (application['redirectUris'] as readonly unknown[] | undefined) ?? [];
    return `<tr>${[...cells, uris.length, state].map((cell) => `<td>${escaped(String(cell))}</td>`).join('')}</tr>`;
  });
  const heads = ['Client', 'Name', 'Type', 'Grants', 'Redirect URIs', 'State'];
  const head = heads.map((each) => `<th scope="col">${each}</th>`).join('');
  return `<table><tr>${head}</tr>\n${rows.join('\n')}</table>`;
}

function textOf(list: unknown): string {
  return Array.isArray(list) ? list.join(', ') : '';
}

function row(what: string, count: number): string {
  return `<tr><td>${what}</td><td>${count}</td></tr>`;
}

/** Lines that differ in the name of a person alone are one, with their number. */
function listOf(title: string, lines: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const text = withoutPeople(line);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const items = [...counts].map(
    ([text, count]) => `<li>${escaped(text)}${count > 1 ? ` (${count} times)` : ''}</li>`,
  );
  return `<h2>${title} (${lines.length})</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

/** A line without the name of the person that it is about, nor any address. */
function withoutPeople(line: string): string {
  // A federation of the realm is no person, but somebody may have a name that begins like one.
  const named = /^((?:\S.* of )?)user (?!federation .*; its people )(?:.*: )?([^:]*)$/s.exec(line);
  const text = named === null ? line : `${named[1] ?? ''}a person: ${named[2] ?? ''}`;
  return text.replaceAll(/[^\s"'<>@]+@[^\s"'<>@]+/g, '(address)');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for a page, without what a reader would not see. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
