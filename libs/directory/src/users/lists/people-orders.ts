import { isOpenLink } from '../../ground/ways-in.postgres.ts';

/** Whom a search is for: those of whom everything holds that is given. */
export interface PeopleFilter {
  /** Each of its words begins a word of a name, an address or the phone number, without case and accents. */
  readonly text?: string;
  readonly role?: string;
  readonly status?: string;
  /** The name of a provider to which they are linked. */
  readonly provider?: string;
  /** They have not signed in since, nor were they made since; milliseconds since the Unix epoch. */
  readonly notSignedInSince?: number;
  readonly neverSignedIn?: true;
  /** They have an invitation that works. */
  readonly invited?: true;
}

/** The type of what is asked, as SQL has it. */
export const askedTypes: { readonly [K in keyof Required<PeopleFilter>]: string } = {
  text: 'text',
  role: 'text',
  status: 'text',
  provider: 'text',
  notSignedInSince: 'float8',
  neverSignedIn: 'boolean',
  invited: 'boolean',
};

/** What may be asked, in the order of parameters. */
export const askable = Object.keys(askedTypes) as readonly (keyof PeopleFilter)[];

/** SQL: whether what is asked holds for the person `u` of the tenant `t`. */
export const conditions: { readonly [K in keyof Required<PeopleFilter>]: (asked: string) => string } = {
  text: (text) => `EXISTS (
    SELECT FROM directory.person_words p WHERE p.tenant_id = u.tenant_id AND p.user_id = u.user_id AND NOT EXISTS (
      SELECT FROM unnest((SELECT directory.words_of(${text}))) AS asked(word) WHERE NOT EXISTS (
        SELECT FROM unnest(p.words) AS own(word) WHERE starts_with(own.word, asked.word))))`,
  role: (role) => `EXISTS (
    SELECT FROM directory.user_role r WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id AND r.role = ${role})`,
  status: (status) => `u.status = ${status}`,
  provider: (provider) => `EXISTS (
    SELECT FROM directory.provider_identity i
     WHERE i.tenant_id = u.tenant_id AND i.user_id = u.user_id AND i.provider = ${provider})`,
  notSignedInSince: (since) => seen(`s.seen_at < ${timeOf(since)}`),
  neverSignedIn: () => seen('s.signed_in_at IS NULL AND s.from_the_first'),
  invited: () => `EXISTS (
    SELECT FROM directory.password_link l
     WHERE l.tenant_id = u.tenant_id AND l.user_id = u.user_id AND l.purpose = 'invitation' AND ${isOpenLink('l', 'u', 't')})`,
};

/** An order in which an index finds people. */
export interface Order {
  readonly from: string;
  /** SQL: of which rows `d`. */
  readonly rows: (asked: string) => string;
  /** SQL: what the order is by, before the person; undefined: by the person alone. */
  readonly key?: string;
  /** The type of the key. */
  readonly type?: 'text' | 'timestamptz';
  /** Before every key. */
  readonly start?: string;
}

/** Behind every word that begins with a text, in the order of bytes. */
const last = '\u{10ffff}';

/** By what is asked; of a text, by one of its words. A search goes by the one that finds the fewest. */
export const orders = {
  text: {
    from: 'directory.person_word d',
    rows: (word) => `d.word >= ${word} COLLATE "C" AND d.word < ${word} || '${last}' COLLATE "C"`,
    key: 'd.word',
    type: 'text',
    start: '',
  },
  role: { from: 'directory.user_role d', rows: (role) => `d.role = ${role}` },
  // As the index says it, which does not have the many who are active.
  status: {
    from: 'directory.user_account d',
    rows: (status) => `d.status = ${status} AND d.status <> 'active'`,
  },
  // Of several identities at one provider the first.
  provider: {
    from: 'directory.provider_identity d',
    rows: (provider) => `d.provider = ${provider} AND NOT EXISTS (
      SELECT FROM directory.provider_identity earlier
       WHERE earlier.tenant_id = d.tenant_id AND earlier.user_id = d.user_id AND earlier.provider = d.provider
         AND earlier.issuer < d.issuer)`,
  },
  notSignedInSince: {
    from: 'directory.person_seen d',
    rows: (since) => `d.seen_at < ${timeOf(since)}`,
    key: 'd.seen_at',
    type: 'timestamptz',
    start: '-infinity',
  },
  neverSignedIn: {
    from: 'directory.person_seen d',
    rows: (asked) => `d.signed_in_at IS NULL AND d.from_the_first AND ${asked}`,
  },
  invited: {
    from: 'directory.password_link d',
    rows: (asked) => `d.purpose = 'invitation' AND ${asked}`,
  },
  everybody: { from: 'directory.user_account d', rows: (asked) => asked },
} satisfies { readonly [K in keyof Required<PeopleFilter> | 'everybody']: Order };

export type OrderName = keyof typeof orders;

/**
 * SQL: whether the word of a row in the order of words is the first of its person that begins like it, and still one of
 * theirs.
 */
export function isFirstWord(word: string, asked: string): string {
  return `${word} = (
    SELECT min(own.word COLLATE "C") FROM directory.person_words p, unnest(p.words) AS own(word)
     WHERE p.tenant_id = u.tenant_id AND p.user_id = u.user_id AND starts_with(own.word, ${asked}))`;
}

function timeOf(milliseconds: string): string {
  return `to_timestamp(${milliseconds} / 1000)`;
}

function seen(condition: string): string {
  return `EXISTS (
    SELECT FROM directory.person_seen s WHERE s.tenant_id = u.tenant_id AND s.user_id = u.user_id AND ${condition})`;
}
