import { mostAttributeBytes, mostAttributes } from '@tessera/directory';
import { fittingAttributes } from '../../files/fitting-attributes.ts';
import type { Entry } from '../../files/imported.ts';
import type { Report } from '../realm/realm.ts';
import type { User } from '../realm/representation.ts';

/** The attribute with the identifier that clients know from Keycloak as `sub`, where people get another one. */
export const idAttribute = 'keycloakId';

/** Attributes that Keycloak's own client scopes map to standard claims. */
const standardAttributes: ReadonlyMap<string, string> = new Map([
  ['birthdate', 'birthdate'],
  ['gender', 'gender'],
  ['locale', 'locale'],
  ['middleName', 'middleName'],
  ['nickname', 'nickname'],
  ['phoneNumber', 'phoneNumber'],
  ['picture', 'picture'],
  ['profile', 'profile'],
  ['website', 'website'],
  ['zoneinfo', 'zoneinfo'],
]);
const addressAttributes: ReadonlyMap<string, string> = new Map([
  ['formatted', 'formatted'],
  ['street', 'streetAddress'],
  ['locality', 'locality'],
  ['region', 'region'],
  ['postal_code', 'postalCode'],
  ['country', 'country'],
]);

/** The attributes of a person and their standard claims, with identifier and groups. Reports what is too much. */
export function attributesOf(
  { id, attributes: given }: User,
  groups: Entry,
  person: string,
  report: Report,
): Entry {
  const standard: Entry = {};
  const address: Entry = {};
  const attributes: Entry = {};
  for (const [name, values] of Object.entries(given)) {
    const [first = '', ...more] = values.filter((value) => value !== '');
    if (first === '') continue;
    const [ofPerson, ofAddress] = [standardAttributes.get(name), addressAttributes.get(name)];
    if (ofPerson !== undefined) standard[ofPerson] = first;
    else if (ofAddress !== undefined) address[ofAddress] = first;
    else attributes[name] = more.length === 0 ? first : [first, ...more];
  }
  const own = { ...(id !== '' && { [idAttribute]: id }), ...groups };
  const fitting = fittingOf(attributes, own, person, report);
  return { ...standard, ...(Object.keys(address).length > 0 && { address }), attributes: fitting };
}

/** The attributes that a person has room for, with those of ours. Reports the others. */
function fittingOf(attributes: Entry, own: Entry, person: string, report: Report): Entry {
  const { kept, gone } = fittingAttributes(own, attributes);
  if (gone.length === 0) return kept;
  const most = `at most ${mostAttributes}, of ${mostAttributeBytes} bytes together`;
  report(`attributes ${gone.join(', ')} of ${person}: a person has ${most}`);
  return kept;
}
