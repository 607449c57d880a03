import type { Entry } from '../../files/imported.ts';
import { ownScopes, type Report } from '../realm/realm.ts';
import type { Mapper, Realm } from '../realm/representation.ts';

/** A client scope with an audience is a scope of the API resource that has this audience. */
interface Scopes {
  readonly resources: Entry[];
  readonly names: ReadonlySet<string>;
}

/** Reads the client scopes of a realm. Reports those that name no audience, and every further audience. */
export function scopesOf({ clientScopes = [] }: Realm, report: Report): Scopes {
  const resources = new Map<string, Entry[]>();
  const names = new Set<string>();
  for (const { name, description, protocol, protocolMappers } of clientScopes) {
    if (ownScopes.has(name)) continue;
    const [audience = '', ...more] = protocolMappers
      .filter((mapper) => mapper.protocolMapper === audienceMapper)
      .map(audienceOf);
    if (protocol !== 'openid-connect' || audience === '') {
      report(`client scope ${name}: it names no audience, to which a scope belongs`);
      continue;
    }
    for (const other of more)
      report(`audience ${other} of scope ${name}: only applications that always get the scope have it, too`);
    names.add(name);
    const scope = description === '' ? { name } : { name, description };
    resources.set(audience, [...(resources.get(audience) ?? []), scope]);
  }
  return {
    // Keycloak writes `scope` as one text.
    resources: [...resources].map(([audience, scopes]) => ({
      audience,
      name: audience,
      scopes,
      scopeFormat: 'string',
    })),
    names,
  };
}

export const audienceMapper = 'oidc-audience-mapper';

/** The audience that such a mapper adds; empty for none. */
export function audienceOf({ config }: Mapper): string {
  return config['included.client.audience'] || config['included.custom.audience'] || '';
}
