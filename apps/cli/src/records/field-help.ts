import type { Noun } from './nouns.ts';

/** Claims of people: texts that name nothing of a tenant. */
const claims: Readonly<Record<string, string>> = {
  preferredUsername: 'claim preferred_username',
  givenName: 'claim given_name',
  familyName: 'claim family_name',
  middleName: 'claim middle_name',
  nickname: 'claim nickname',
  locale: 'claim locale, such as sv-SE',
  zoneinfo: 'claim zoneinfo, such as Europe/Stockholm',
  picture: 'claim picture, a web address',
  profile: 'claim profile, a web address',
  website: 'claim website, a web address',
  gender: 'claim gender',
  birthdate: 'claim birthdate: 1985-12-10, 0000-12-10 or 1985',
};

/** What fields of several kinds are. */
const usual: Readonly<Record<string, string>> = {
  name: 'what people read',
  status: 'active or disabled',
  ...claims,
};

/**
 * The help text of the option for a field, by its name in JSON; empty for an unknown one. Comments of the protos are
 * not in what is generated from them.
 */
export function fieldHelp({ help = {} }: Noun, field: string): string {
  return help[field] ?? usual[field] ?? '';
}

/** Whether a field, by its name in JSON, is a claim of people. */
export function isClaim(field: string): boolean {
  return Object.hasOwn(claims, field);
}
