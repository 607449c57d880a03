import { attributes, type UserRecord, type ProviderRecord } from '@tessera/directory/records';

type Mappings = Pick<ProviderRecord, 'roleMappings' | 'attributeMappings'>;

/** What a provider said of a person in the claims that are mapped. */
export interface MappedClaims {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Names of those that it said everything about; what the others decide stays as it is. */
  readonly knownClaims: readonly string[];
}

/** Names of the claims that the mappings read. */
export function mappedClaims({ roleMappings, attributeMappings }: Mappings): string[] {
  return [...new Set([...roleMappings.map(({ claim }) => claim), ...Object.values(attributeMappings)])];
}

/** The person with the roles and attributes that the claims give. `roles`: those that the tenant has. */
export function mappedPerson(
  person: UserRecord,
  { roleMappings, attributeMappings }: Mappings,
  { claims, knownClaims }: MappedClaims,
  roles: ReadonlySet<string>,
): UserRecord {
  const known = new Set(knownClaims);
  // A role of several mappings stays as it is unless all of their claims are known.
  const governed = new Set(roleMappings.map(({ role }) => role));
  for (const { claim, role } of roleMappings) if (!known.has(claim)) governed.delete(role);
  const granted = roleMappings
    .filter(({ claim, value }) => known.has(claim) && textsOf(claims[claim]).includes(value))
    .map(({ role }) => role)
    .filter((role) => roles.has(role));
  const kept = person.roles.filter((role) => !governed.has(role) || granted.includes(role));
  return {
    ...person,
    roles: [...new Set([...kept, ...granted])],
    attributes: mappedAttributes(person, attributeMappings, claims, known),
  };
}

function mappedAttributes(
  { attributes: present }: UserRecord,
  mappings: Mappings['attributeMappings'],
  claims: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
): UserRecord['attributes'] {
  const entries = new Map(Object.entries(present));
  for (const [name, claim] of Object.entries(mappings)) {
    if (!known.has(claim)) continue;
    const value = Array.isArray(claims[claim]) ? textsOf(claims[claim]) : textsOf(claims[claim])[0];
    const given = attributes.safeParse({ [name]: value });
    if (given.success && value !== undefined) entries.set(name, value);
    else entries.delete(name);
  }
  // Too much of it together changes nothing.
  return attributes.safeParse(Object.fromEntries(entries)).data ?? present;
}

function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value])
    .filter((one) => ['string', 'number', 'boolean'].includes(typeof one))
    .map(String);
}
