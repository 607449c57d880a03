import { logoutRedirectUriProblem, redirectUriProblem } from '@tessera/oauth';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import { CommandError } from '../../../terminal.ts';
import { printable } from '../../files/printable.ts';
import { ownClients, readRealm, type RealmFile } from '../realm/realm.ts';
import type { Client, Realm } from '../realm/representation.ts';
import { logoutUrisOf, readUri, type ExactUris } from './redirects.ts';

/** By the identifier of the client. */
export type RedirectUris = ReadonlyMap<string, ExactUris>;

/** A file as it was read. */
interface TextOfFile {
  readonly name: string;
  readonly text: string;
}

const keys = { redirectUris: redirectUriProblem, logoutRedirectUris: logoutRedirectUriProblem };
type Key = keyof typeof keys;
const isKey = (name: string): name is Key => Object.hasOwn(keys, name);

/** Reads which redirect URIs clients have in place of wildcards. Throws CommandError that names each place. */
export function readRedirectUris({ name, text }: TextOfFile, realm: Realm): RedirectUris {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const problems: string[] = [];
  const refuse = (offset: number, what: string): void => {
    const { line, col } = lines.linePos(offset);
    problems.push(`${name}:${line}:${col}: ${printable(what)}`);
  };
  for (const { pos, code } of document.errors)
    refuse(pos[0], code === 'DUPLICATE_KEY' ? 'a key occurs twice in one place' : 'is not valid YAML');
  const found = new Map<string, ExactUris>();
  const root = document.contents;
  if (problems.length === 0 && root !== null) {
    if (isMap<Node, Node>(root))
      for (const { key, value } of root.items) {
        const clientId = String(isScalar(key) ? key.value : key);
        const problem = problemOfClient(clientId, realm);
        if (problem === undefined)
          found.set(clientId, urisOf(clientId, value ?? undefined, offsetOf(key), refuse));
        else refuse(offsetOf(key), `${clientId}: ${problem}`);
      }
    else refuse(offsetOf(root), 'must be a set of clients, each with its redirectUris');
  }
  if (problems.length > 0) throw new CommandError(problems.join('\n'));
  return found;
}

function problemOfClient(clientId: string, { clients }: Realm): string | undefined {
  const client = clients.find((each) => each.clientId === clientId);
  if (client === undefined || ownClients.has(clientId)) return 'is not a client of the realm';
  return isSignedInToByRedirect(client) ? undefined : 'nobody signs in to it by redirect';
}

type Refuse = (offset: number, what: string) => void;

function urisOf(clientId: string, node: Node | undefined, at: number, refuse: Refuse): ExactUris {
  const uris = { redirectUris: [] as string[], logoutRedirectUris: [] as string[] };
  if (!isMap<Node, Node>(node)) {
    refuse(at, `${clientId}: must be a set of keys: redirectUris, logoutRedirectUris`);
    return uris;
  }
  for (const { key: named, value } of node.items) {
    const key = String(isScalar(named) ? named.value : named);
    const place = `${clientId}.${key}`;
    if (key === 'webOrigins') refuse(offsetOf(named), `${place}: every origin may call; leave it out`);
    else if (!isKey(key))
      refuse(offsetOf(named), `${place}: is not a known key; use redirectUris, logoutRedirectUris`);
    else if (isSeq<Node>(value))
      value.items.forEach((item, index) => {
        const uri = isScalar(item) ? item.value : undefined;
        const problem = problemOfUri(uri, keys[key]);
        if (problem !== undefined) refuse(offsetOf(item), `${place}[${index}]: ${problem}`);
        else if (typeof uri === 'string') uris[key].push(uri);
      });
    else if (value !== null && !(isScalar(value) && value.value === null))
      refuse(offsetOf(named), `${place}: must be a list`);
  }
  return uris;
}

function problemOfUri(uri: unknown, problemOf: (typeof keys)[Key]): string | undefined {
  if (typeof uri !== 'string') return 'must be text; put it in quotes';
  if (uri.includes('*')) return 'has a wildcard: say each redirect URI in full';
  return problemOf(uri)?.replace(/^It /, '').replace(/\.$/, '');
}

function offsetOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/**
 * A file for `readRedirectUris` with each client that has redirect URIs which do not come, and these as comments.
 * Throws CommandError.
 */
export function redirectUrisTemplate(files: readonly RealmFile[], wanted?: string): string {
  const { realm } = readRealm(files, wanted);
  const clients = realm.clients.filter(
    (client) => !ownClients.has(client.clientId) && isSignedInToByRedirect(client),
  );
  const entries = clients.flatMap((client) => entryOf(client));
  return [
    '# The exact redirect URIs of clients, in place of those that do not come: tessera import keycloak --redirect-uris',
    entries.length === 0 ? '# No client needs any.' : '',
    ...entries,
    '',
  ].join('\n');
}

function entryOf(client: Client): string[] {
  const lost = (uris: readonly string[], problemOf: (typeof keys)[Key]) =>
    uris.flatMap((uri) => {
      const { absolute, problem } = readUri(client, uri, problemOf);
      return problem === undefined || uri === '' ? [] : [`  # ${printable(absolute)}: ${problem}`];
    });
  const own = client.redirectUris.filter((uri) => uri !== '');
  const redirects = lost(own, keys.redirectUris);
  const logouts = logoutUrisOf(client).filter((uri) => uri !== '+');
  const ofLogout = lost(logouts, keys.logoutRedirectUris);
  if (redirects.length === 0 && own.length > 0 && ofLogout.length === 0) return [];
  return [
    `${JSON.stringify(client.clientId)}:`,
    ...redirects,
    '  redirectUris: []',
    ...(ofLogout.length > 0 ? [...ofLogout, '  logoutRedirectUris: []'] : []),
  ];
}

function isSignedInToByRedirect(client: Client): boolean {
  const { protocol, bearerOnly, standardFlowEnabled, implicitFlowEnabled } = client;
  return protocol === 'openid-connect' && !bearerOnly && (standardFlowEnabled || implicitFlowEnabled);
}
