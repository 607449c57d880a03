/** Longest password that is hashed, in UTF-16 code units. */
export const longestPassword = 1024;

/** An argon2id hash (RFC 9106) with everything needed to verify a password. */
export interface PasswordHash {
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

const phc =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/;

/** Bounds of imported hashes, so that verifying one cannot exhaust the process. */
const bounds = { memory: 262_144, passes: 16, parallelism: 16 };

/** The PHC string format: `$argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<tag>`, base64 without padding. */
export function encodePasswordHash(hash: PasswordHash): string {
  const parameters = `m=${hash.memory},t=${hash.passes},p=${hash.parallelism}`;
  return `$argon2id$v=19$${parameters}$${base64(hash.salt)}$${base64(hash.tag)}`;
}

/** Reads a PHC string; undefined unless it is an argon2id hash of version 19 within the bounds. */
export function decodePasswordHash(text: string): PasswordHash | undefined {
  const parts = phc.exec(text);
  if (parts === null) return undefined;
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts;
  const hash = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
  return isWithinBounds(hash) ? hash : undefined;
}

export function isPasswordHash(text: string): boolean {
  return decodePasswordHash(text) !== undefined;
}

/** RFC 9106 §3.1 asks for 8 KiB a lane at least. */
function isWithinBounds({ memory, passes, parallelism }: PasswordHash): boolean {
  if (parallelism < 1 || passes < 1 || memory < 8 * parallelism) return false;
  return memory <= bounds.memory && passes <= bounds.passes && parallelism <= bounds.parallelism;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
