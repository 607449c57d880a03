import { importedRealm } from '../import/keycloak/imported-realm.ts';

export type Part = Readonly<Record<string, unknown>>;
type Options = Parameters<typeof importedRealm>[1];

/** A client that comes as it is. */
export const client = {
  clientId: 'web',
  secret: 's'.repeat(32),
  redirectUris: ['https://web.example/cb'],
  optionalClientScopes: [],
};

/** What comes of a realm of Keycloak that has no more than these. */
export function moved(part: Part, options?: Options) {
  const text = JSON.stringify({ realm: 'Harbour Co', clients: [client], ...part });
  const imported = importedRealm([{ name: 'realm.json', text }], options);
  return { ...imported, records: { ...imported.records, users: [...imported.records.users] } };
}

/** What comes of a client that differs from the usual one in these. */
export function movedClient(part: Part, options?: Options, ofRealm: Part = {}) {
  const {
    records,
    leftOut,
    toDo = [],
    newSecrets,
  } = moved({ ...ofRealm, clients: [{ ...client, ...part }] }, options);
  const { disabledFor, what } = toDo[0] ?? { disabledFor: [], what: [] };
  const [lacksSecret] = newSecrets?.values() ?? [];
  return { application: records.applications[0], leftOut, disabledFor, what, lacksSecret };
}

export const mapper = (protocolMapper: string, config: Part) => ({ name: 'm', protocolMapper, config });
