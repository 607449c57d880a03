import { describe, expect, it } from 'vitest';
import { decodePasswordHash, encodePasswordHash, passwordHashProblem } from './phc.ts';

const salt = 'MTIzNDU2Nzg5MDEyMzQ1Ng';
const tag = 'mNmbNKnqNvHBzpYy/CEcIQ/1bsWAgXJOzb7w0U4wUP8';
const tag64 = 'GsyuPSeIH8WKHkGSnbbztagoj7.4KWWk6CRaWsGkpgzf1yEocdnKM4Mv0fVgjttZ8o.2mXoYh9CbD7h7/FC5XQ';
const bcryptTag = '.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O';

describe('the PHC form of hashes', () => {
  it('survives a round trip unchanged', () => {
    const text = `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`;
    const hash = decodePasswordHash(text);
    expect(hash).toMatchObject({ algorithm: 'argon2id', memory: 19_456, passes: 2, parallelism: 1 });
    expect(hash?.algorithm === 'argon2id' ? encodePasswordHash(hash) : '').toBe(text);
  });

  it.each([
    ['argon2id at its bounds', `$argon2id$v=19$m=65536,t=4,p=4$${salt}$${tag}`],
    ['argon2id as Keycloak makes it', `$argon2id$v=19$m=7168,t=5,p=1$${salt}$${tag}`],
    ['argon2i', `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
    ['argon2d', `$argon2d$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
    ['PBKDF2 of 1,000,000 iterations', `$pbkdf2-sha256$i=1000000,l=32$${salt}$${tag}`],
    ['PBKDF2 with two blocks of half as many', `$pbkdf2-sha256$i=500000$${salt}$${tag64}`],
    ['PBKDF2 as passlib writes it', `$pbkdf2-sha512$1000000$${salt}$${tag64}`],
    ['scrypt at its bounds', `$scrypt$ln=17,r=8,p=1$${salt}$${tag}`],
    ['bcrypt at its bounds', `$2b$12$${bcryptTag}`],
    ['bcrypt of PHP', `$2y$10$${bcryptTag}`],
  ])('is read of %s', (_what, text) => {
    expect(passwordHashProblem(text)).toBeUndefined();
  });

  it.each([
    ['another version', `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`, /must be a hash by/],
    ['no parameters', `$argon2id$v=19$${salt}$${tag}`, /must be a hash by/],
    ['another digest', `$pbkdf2-md5$i=1000$${salt}$${tag}`, /must be a hash by/],
    ['padding', `$argon2id$v=19$m=19456,t=2,p=1$${salt}==$${tag}=`, /must be a hash by/],
    ['something after it', `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`, /must be a hash by/],
    ['half a bcrypt hash', '$2b$12$R9h/cIPz0gi.URNNX3kh2O', /must be a hash by/],
    ['too little memory for its lanes', `$argon2id$v=19$m=8,t=2,p=4$${salt}$${tag}`, /does not allow/],
    ['no iteration', `$pbkdf2-sha256$i=0$${salt}$${tag}`, /does not allow/],
    ['an N of 1', `$scrypt$ln=0,r=8,p=1$${salt}$${tag}`, /does not allow/],
    ['an N too large for its blocks', `$scrypt$ln=16,r=1,p=1$${salt}$${tag}`, /does not allow/],
    ['a bcrypt cost of 3', `$2b$03$${bcryptTag}`, /does not allow/],
    ['too much memory', `$argon2id$v=19$m=65537,t=2,p=1$${salt}$${tag}`, /at most 64 MiB/],
    ['too many passes', `$argon2d$v=19$m=19456,t=5,p=1$${salt}$${tag}`, /at most 64 MiB, 4 passes/],
    ['too many passes over little memory', `$argon2id$v=19$m=7168,t=10,p=1$${salt}$${tag}`, /4 passes/],
    ['too many lanes', `$argon2id$v=19$m=19456,t=2,p=5$${salt}$${tag}`, /4 lanes/],
    ['too many iterations', `$pbkdf2-sha256$i=1000001$${salt}$${tag}`, /at most 1,000,000 iterations/],
    [
      'too many iterations for its blocks',
      `$pbkdf2-sha256$i=500001$${salt}$${tag64}`,
      /counted once for each/,
    ],
    ['a large N', `$scrypt$ln=18,r=1,p=1$${salt}$${tag}`, /at most N of 2\^17/],
    ['many scrypts', `$scrypt$ln=17,r=8,p=2$${salt}$${tag}`, /N × r × p of 2\^20/],
    ['a bcrypt cost of 13', `$2b$13$${bcryptTag}`, /at most a cost of 12/],
  ])('is refused with %s, with the reason and without the text', (_what, text, problem) => {
    expect(decodePasswordHash(text)).toBeUndefined();
    expect(passwordHashProblem(text)).toMatch(problem);
    expect(passwordHashProblem(text)).not.toContain(salt);
  });
});
