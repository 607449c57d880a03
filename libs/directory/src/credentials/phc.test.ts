import { describe, expect, it } from 'vitest';
import { decodePasswordHash, encodePasswordHash, isPasswordHash } from './phc.ts';

const salt = 'MTIzNDU2Nzg5MDEyMzQ1Ng';
const tag = 'mNmbNKnqNvHBzpYy/CEcIQ/1bsWAgXJOzb7w0U4wUP8';

describe('the PHC form of argon2id hashes', () => {
  it('survives a round trip unchanged', () => {
    const text = `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`;
    const hash = decodePasswordHash(text);
    expect(hash).toMatchObject({ memory: 19_456, passes: 2, parallelism: 1 });
    expect(hash === undefined ? '' : encodePasswordHash(hash)).toBe(text);
  });

  it.each([
    ['another algorithm', `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
    ['another version', `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`],
    ['no parameters', `$argon2id$v=19$${salt}$${tag}`],
    ['a bcrypt hash', '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW'],
    ['padding', `$argon2id$v=19$m=19456,t=2,p=1$${salt}==$${tag}=`],
    ['too much memory', `$argon2id$v=19$m=9999999,t=2,p=1$${salt}$${tag}`],
    ['too many passes', `$argon2id$v=19$m=19456,t=99,p=1$${salt}$${tag}`],
    ['too little memory for its lanes', `$argon2id$v=19$m=8,t=2,p=4$${salt}$${tag}`],
    ['something after it', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`],
  ])('is refused with %s', (_what, text) => {
    expect(isPasswordHash(text)).toBe(false);
  });
});
