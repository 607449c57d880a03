/** Longest password that is hashed, in UTF-16 code units. */
export const longestPassword = 1024;

/** An argon2 hash (RFC 9106) with everything needed to verify a password. */
export interface Argon2Hash {
  readonly algorithm: 'argon2id' | 'argon2i' | 'argon2d';
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** RFC 8018 §5.2. */
export interface Pbkdf2Hash {
  readonly algorithm: 'pbkdf2-sha1' | 'pbkdf2-sha256' | 'pbkdf2-sha512';
  readonly iterations: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** RFC 7914. */
export interface ScryptHash {
  readonly algorithm: 'scrypt';
  /** N, a power of two. */
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** `$2b$<cost>$` and 53 characters. */
export interface BcryptHash {
  readonly algorithm: 'bcrypt';
  readonly text: string;
}

/** New passwords have argon2id hashes. The others were imported, and are made anew at the next sign-in. */
export type PasswordHash = Argon2Hash | Pbkdf2Hash | ScryptHash | BcryptHash;

/** Either the hash, or why it is none that a password may be compared with. */
type Read = { readonly hash: PasswordHash } | { readonly problem: string };

/** How the text of an algorithm is read. */
interface Format {
  readonly form: RegExp;
  read(parts: readonly string[]): Read;
}

const salt = /([A-Za-z0-9+/.]{11,86})/;
const tag = /([A-Za-z0-9+/.]{16,86})/;
const form = (head: RegExp) => new RegExp(`^\\$${head.source}\\$${salt.source}\\$${tag.source}$`);

/** Blocks of output are computed one after the other, each with all iterations. */
const blockBytes = { 'pbkdf2-sha1': 20, 'pbkdf2-sha256': 32, 'pbkdf2-sha512': 64 } as const;

/** The iterations of all blocks. */
export function iterationsOf({ algorithm, iterations, tag: tagged }: Omit<Pbkdf2Hash, 'salt'>): number {
  return iterations * Math.ceil(tagged.length / blockBytes[algorithm]);
}

const mostIterations = 1_000_000;

/** 64 MiB. */
const mostArgon2 = { memory: 65_536, passes: 4, parallelism: 4 };

/** Over little memory there may be more passes: Keycloak makes five over 7 MiB. */
const manyPasses = (memory: number, passes: number): boolean =>
  passes > mostArgon2.passes && memory * passes > mostArgon2.memory;

/** N, and N × r × p, which bounds the memory: 128 MiB. */
const mostScrypt = { cost: 2 ** 17, blocks: 2 ** 20 };
const bcryptCosts = { least: 4, most: 12 };

/**
 * The bounds are what keeps an imported hash from making each sign-in take seconds, or more memory than a process has.
 * They are those of the fields' reference.
 */
const formats: readonly Format[] = [
  {
    form: form(/(argon2id|argon2i|argon2d)\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})/),
    read([algorithm, m, t, p, ...bytes]) {
      const [memory, passes, parallelism] = [Number(m), Number(t), Number(p)];
      const most = mostArgon2;
      if (memory > most.memory || manyPasses(memory, passes) || parallelism > most.parallelism)
        return tooCostly('64 MiB, 4 passes (more over 64 MiB in all) and 4 lanes');
      // RFC 9106 §3.1 asks for 8 KiB a lane at least.
      if (parallelism < 1 || passes < 1 || memory < 8 * parallelism) return impossible;
      return {
        hash: {
          algorithm: algorithm as Argon2Hash['algorithm'],
          memory,
          passes,
          parallelism,
          ...decoded(bytes),
        },
      };
    },
  },
  {
    // PHC, and the older form of passlib.
    form: form(/(pbkdf2-sha1|pbkdf2-sha256|pbkdf2-sha512)\$(?:i=)?(\d{1,9})(?:,l=\d{1,3})?/),
    read([name, i, ...bytes]) {
      const algorithm = name as Pbkdf2Hash['algorithm'];
      const [iterations, { salt: salted, tag: tagged }] = [Number(i), decoded(bytes)];
      if (iterations < 1) return impossible;
      if (iterationsOf({ algorithm, iterations, tag: tagged }) > mostIterations)
        return tooCostly('1,000,000 iterations, counted once for each block of the hash');
      return { hash: { algorithm, iterations, salt: salted, tag: tagged } };
    },
  },
  {
    form: form(/scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})/),
    read([ln, r, p, ...bytes]) {
      const [cost, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)];
      if (cost > mostScrypt.cost || cost * blockSize * parallelization > mostScrypt.blocks)
        return tooCostly('N of 2^17 and N × r × p of 2^20');
      // RFC 7914 §6.
      if (cost < 2 || blockSize < 1 || parallelization < 1 || Number(ln) >= 16 * blockSize) return impossible;
      return { hash: { algorithm: 'scrypt', cost, blockSize, parallelization, ...decoded(bytes) } };
    },
  },
  {
    form: /^(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/,
    read([text = '', cost]) {
      if (Number(cost) > bcryptCosts.most) return tooCostly(`a cost of ${bcryptCosts.most}`);
      return Number(cost) < bcryptCosts.least ? impossible : { hash: { algorithm: 'bcrypt', text } };
    },
  },
];

const impossible: Read = { problem: 'has parameters that its algorithm does not allow' };

function tooCostly(most: string): Read {
  return { problem: `would make each sign-in too expensive: at most ${most}` };
}

/** The PHC string format: `$argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<tag>`, base64 without padding. */
export function encodePasswordHash(hash: Argon2Hash): string {
  const parameters = `m=${hash.memory},t=${hash.passes},p=${hash.parallelism}`;
  return `$${hash.algorithm}$v=19$${parameters}$${base64(hash.salt)}$${base64(hash.tag)}`;
}

/**
 * Reads a PHC string, or a bcrypt hash; undefined unless its algorithm is known and its parameters are within the
 * bounds.
 */
export function decodePasswordHash(text: string): PasswordHash | undefined {
  const read = readHash(text);
  return 'hash' in read ? read.hash : undefined;
}

/** Why a text is no hash that passwords may be compared with; undefined if it is one. Never quotes it. */
export function passwordHashProblem(text: string): string | undefined {
  const read = readHash(text);
  return 'problem' in read ? read.problem : undefined;
}

function readHash(text: string): Read {
  for (const format of formats) {
    const parts = format.form.exec(text);
    if (parts !== null) return format.read(parts.slice(1));
  }
  return {
    problem:
      'must be a hash by argon2 ($argon2id$v=19$m=...,t=...,p=...$...$...), PBKDF2 ($pbkdf2-sha256$i=...$...$...), ' +
      'scrypt ($scrypt$ln=...,r=...,p=...$...$...) or bcrypt ($2b$...)',
  };
}

/** passlib writes `.` for `+`. */
function decoded([salted = '', tagged = '']: readonly string[]) {
  const bytes = (text: string) => Buffer.from(text.replaceAll('.', '+'), 'base64');
  return { salt: bytes(salted), tag: bytes(tagged) };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
