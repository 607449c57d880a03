import { withheldPassword } from '@tessera/directory';
import { parse } from 'yaml';
import type { Entry, ImportedRecords } from '../import/files/imported.ts';
import { rows } from './run-command.ts';
import { text, texts, type Node } from './values-in-export.ts';
import type { Arrived, ArrivedPerson } from './wider-rights.ts';

/** What records would bring. */
export function arrivedOf({ applications, users }: Pick<ImportedRecords, 'applications' | 'users'>): Arrived {
  const lengthOf = (value: unknown) => (Array.isArray(value) ? value.length : 0);
  const people = users.map((user): ArrivedPerson => {
    const { password, passwordHash, totp, passkeys, identities } = user;
    return {
      username: text(user['username']),
      isActive: user['status'] !== 'disabled',
      roles: texts(user['roles']),
      hasPassword: password !== undefined || (passwordHash ?? withheldPassword) !== withheldPassword,
      hasApp: totp !== undefined,
      passkeys: lengthOf(passkeys),
      links: ((identities ?? []) as Entry[]).map(
        (each) => `${text(each['provider'])} ${text(each['subject'])}`,
      ),
    };
  });
  return { applications, people };
}

/** What a tenant has: applications as `get` prints them, and people as they are stored. */
export async function arrivedIn(url: string, tenant: string, printed: string): Promise<Arrived> {
  const { tenants } = parse(printed) as { readonly tenants: readonly { readonly applications?: Node[] }[] };
  const of = (table: string) =>
    `FROM directory.${table} x WHERE x.tenant_id = u.tenant_id AND x.user_id = u.user_id`;
  const people = (await rows(
    url,
    `SELECT u.username, u.status = 'active' AS "isActive", u.password_hash IS NOT NULL AS "hasPassword",
       EXISTS (SELECT ${of('totp')}) AS "hasApp", (SELECT count(*)::int ${of('passkey')}) AS passkeys,
       ARRAY(SELECT x.role ${of('user_role')}) AS roles,
       ARRAY(SELECT x.provider || ' ' || x.subject ${of('provider_identity')}) AS links
     FROM directory.user_account u WHERE u.tenant_id = '${tenant}'`,
  )) as ArrivedPerson[];
  return { applications: tenants[0]?.applications ?? [], people };
}
