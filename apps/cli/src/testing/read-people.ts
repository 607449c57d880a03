import type { Entry } from '../import/files/imported.ts';
import { peopleFrom, type FromOptions } from '../import/from/people-from.ts';
import { products } from '../import/from/products.ts';

/** The line about a person without a password. */
export const linkFor = (why: string) => `password of 1 people: ${why}; they need a link to set one`;
export const bcrypt = `$2b$10$${'a'.repeat(53)}`;

/** A person of each product who may sign in there, with a password where the product gives one away. */
export const active: Readonly<Record<string, Entry>> = {
  auth0: { user_id: 'auth0|1', username: 'ada', blocked: false, multifactor: [], passwordHash: bcrypt },
  cognito: { Username: 'ada', Enabled: true, UserStatus: 'CONFIRMED', Attributes: [] },
  entra: { id: '1', userPrincipalName: 'ada@example.com', accountEnabled: true },
  firebase: { localId: '1', email: 'ada@example.com' },
  okta: {
    id: '1',
    status: 'ACTIVE',
    profile: { login: 'ada' },
    credentials: {
      password: {
        hash: { algorithm: 'BCRYPT', workFactor: 10, salt: 'a'.repeat(22), value: 'a'.repeat(31) },
      },
    },
  },
  supabase: {
    id: '1',
    email: 'ada@example.com',
    encrypted_password: bcrypt,
    email_confirmed_at: '2026-01-01 00:00:00+00',
    banned_until: null,
    deleted_at: null,
    factors: null,
  },
};

/** All at once: what comes of a file, which is JSON unless it is text. */
export function read(name: string, file: unknown, options: Partial<FromOptions> = {}) {
  const product = products[name];
  if (product === undefined) throw new Error(`no product ${name}`);
  const text = typeof file === 'string' ? file : JSON.stringify(file);
  const now = Date.parse('2026-06-01T00:00:00Z');
  const { users, leftOut } = peopleFrom(product, text, { format: 'json', nobodyHas: [], now, ...options });
  return { users: [...users], leftOut: [...leftOut] };
}
