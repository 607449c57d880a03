import { boundedCache, Secret } from '@tessera/kit';
import { cleanText, redacted } from './texts.ts';
import { serializeError } from './serialize-error.ts';

const maxDepth = 5;
const maxEntries = 50;

/** Names whose values are never printed, whatever they hold. Compared without case, dashes and underscores. */
const sensitiveNames = new Set([
  'apikey',
  'authorization',
  'authreqid',
  'body',
  'connectionstring',
  'csrf',
  'databaseurl',
  'headers',
  'kek',
  'loginhint',
  'passwd',
  'proxyauthorization',
  'rawheaders',
  'redisurl',
]);
const sensitiveEnding =
  /(passwords?|passphrase|secrets?|tokens?|cookies?|verifier|credentials?|assertion|codes?|privatekey)$/;
const harmlessNames = new Set(['errorcode', 'statuscode', 'exitcode', 'sqlstate']);

const lineNames = new Set(['level', 'time', 'service', 'message']);

/** What the rules say of a name, kept because records have the same few names line after line. */
interface NameRules {
  readonly isSensitive: boolean;
  readonly cleaned: string;
}

const knownNames = boundedCache<NameRules>(1000);

function rulesOf(name: string): NameRules {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const plain = name.toLowerCase().replace(/[-_]/g, '');
  const isSensitive = !harmlessNames.has(plain) && (sensitiveNames.has(plain) || sensitiveEnding.test(plain));
  const rules = { isSensitive, cleaned: cleanText(name) };
  // Longer names come from outside, with a careless record.
  if (name.length <= 64) knownNames.set(name, rules);
  return rules;
}

/**
 * Reduces a record to what may be printed: texts, numbers, dates, errors, plain objects and lists, within bounds.
 * Any other kind of object is printed as its kind alone.
 */
export function serializeRecord(record: object): Record<string, unknown> {
  if (!isPlain(record)) return { value: serializeObject(record, 0) };
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record))
    result[fieldName(name)] = serializeField(name, value, 0);
  return result;
}

/** A field must not repeat the name of one of the line itself. */
function fieldName(name: string): string {
  return lineNames.has(name) ? `${name}_` : rulesOf(name).cleaned;
}

function serializeField(name: string, value: unknown, depth: number): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value;
  if (rulesOf(name).isSensitive) return redacted;
  return serializeValue(value, depth);
}

function serializeValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  return typeof value === 'object' && value !== null ? serializeObject(value, depth) : value;
}

function serializeObject(value: object, depth: number): unknown {
  if (value instanceof Secret) return redacted;
  if (value instanceof Error) return serializeError(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '[invalid date]' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth >= maxDepth) return '[too deep]';
  if (Array.isArray(value)) return serializeList(value, depth);
  const exchange = serializeExchange(value);
  if (exchange !== undefined) return exchange;
  if (!isPlain(value)) return `[${value.constructor?.name ?? 'object'}]`;
  const result: Record<string, unknown> = {};
  const entries = Object.entries(value);
  for (const [name, field] of entries.slice(0, maxEntries)) {
    result[rulesOf(name).cleaned] = serializeField(name, field, depth + 1);
  }
  if (entries.length > maxEntries) result['more'] = entries.length - maxEntries;
  return result;
}

function serializeList(values: readonly unknown[], depth: number): unknown[] {
  const result = values.slice(0, maxEntries).map((value) => serializeValue(value, depth + 1));
  if (values.length > maxEntries) result.push(`[${values.length - maxEntries} more]`);
  return result;
}

/** Requests and replies of an HTTP server: method, path without query, status; never headers or bodies. */
function serializeExchange(value: object): unknown {
  if ('method' in value && 'url' in value && 'headers' in value) {
    return {
      method: serializeValue(value.method, maxDepth),
      path: cleanText(String(value.url).replace(/[?#].*$/s, '')),
    };
  }
  if ('statusCode' in value && ('getHeaders' in value || 'raw' in value))
    return { statusCode: Number(value.statusCode) };
  return undefined;
}

/** Messages of the wire have their type's name and are no plain objects to us: their fields may carry anything. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !('$typeName' in value);
}
