import { pbkdf2Sync } from 'node:crypto';
import { expect, it } from 'vitest';
import { passwordHashOf } from './password-hash.ts';

const salt = Buffer.alloc(16, 7);
/** What a credential of Keycloak 8 and later does not have. */
const former = {
  value: '',
  temporary: false,
  hashedSaltedValue: '',
  salt: '',
  hashIterations: 0,
  algorithm: 'pbkdf2',
};

function credential(algorithm: string, value: Buffer, hashIterations: number, additionalParameters = {}) {
  return {
    ...former,
    type: 'password',
    secretData: JSON.stringify({ value: value.toString('base64'), salt: salt.toString('base64') }),
    credentialData: JSON.stringify({ algorithm, hashIterations, additionalParameters }),
  };
}

it.each([
  ['pbkdf2', 'sha1', 20],
  ['pbkdf2-sha256', 'sha256', 32],
  ['pbkdf2-sha512', 'sha512', 64],
])(
  '%s is PBKDF2 by its first block, which costs one round of iterations (RFC 8018 §5.2)',
  (name, digest, block) => {
    const whole = pbkdf2Sync('correct horse', salt, 1000, 64, digest);
    const alone = pbkdf2Sync('correct horse', salt, 1000, block, digest);
    const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
    expect(passwordHashOf(credential(name, whole, 1000))).toEqual({
      hash: `$pbkdf2-${digest}$i=1000$${text(salt)}$${text(alone)}`,
    });
  },
);

it('argon2 keeps its kind and its costs', () => {
  const parameters = {
    hashLength: ['32'],
    memory: ['7168'],
    type: ['id'],
    version: ['1.3'],
    parallelism: ['1'],
  };
  expect(passwordHashOf(credential('argon2', Buffer.alloc(32, 1), 5, parameters))).toEqual({
    hash: '$argon2id$v=19$m=7168,t=5,p=1$BwcHBwcHBwcHBwcHBwcHBw$AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
  });
  expect(passwordHashOf(credential('argon2', salt, 5, { ...parameters, version: ['1.0'] }))).toEqual({
    problem: 'has a hash by argon2 1.0, which is unknown here',
  });
});

it('hashes by plug-ins and credentials without data have none', () => {
  expect(passwordHashOf(credential('bcrypt', salt, 10))).toEqual({
    problem: 'has a hash by bcrypt, which is unknown here',
  });
  expect(passwordHashOf(credential('constructor', salt, 10))).toEqual({
    problem: 'has a hash by constructor, which is unknown here',
  });
  const nothing = { ...former, type: 'password', secretData: '', credentialData: '{}' };
  expect(passwordHashOf(nothing)).toEqual({ problem: 'is not in the file' });
});

it('a hash of Keycloak before 8 stands beside its salt', () => {
  const value = pbkdf2Sync('correct horse', salt, 1000, 64, 'sha1').toString('base64');
  const parts = { hashedSaltedValue: value, salt: salt.toString('base64'), hashIterations: 1000 };
  const given = { ...former, ...parts, type: 'password', secretData: '', credentialData: '' };
  expect(passwordHashOf(given)).toEqual(
    passwordHashOf(credential('pbkdf2', Buffer.from(value, 'base64'), 1000)),
  );
});
