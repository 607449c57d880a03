import { callerNames, type CallerName } from '../call.ts';

/** Whether the value names one of the processes that may call. */
export function isCallerName(value: string): value is CallerName {
  return callerNames.some((name) => name === value);
}

/** The caller of a certificate with the name that says so, as it stands there. */
export interface CertifiedName {
  readonly caller: CallerName;
  /** A DNS name or a SPIFFE id. */
  readonly name: string;
}

/**
 * Who a certificate speaks for, from its subject alternative names: the DNS name `<caller>` or `<caller>.<trust
 * domain>`, or a SPIFFE id of the trust domain whose last segment is the caller. Introspectors may have further labels
 * in between, which tell them apart. Without a trust domain any domain will do. Undefined when it names no process, or
 * more than one.
 * @param subjectAltName as Node prints it: `DNS:token, URI:spiffe://example/token`
 */
export function certifiedName(
  subjectAltName: string | undefined,
  trustDomain?: string,
): CertifiedName | undefined {
  // Node quotes only names that could be mistaken for a list; none of ours is one.
  if (subjectAltName === undefined || subjectAltName.includes('"')) return undefined;
  const found = new Map<CallerName, string>();
  for (const entry of subjectAltName.split(', ')) {
    const caller = callerPart(entry, trustDomain);
    if (caller === undefined || !isCallerName(caller) || found.has(caller)) continue;
    found.set(caller, entry.slice(entry.indexOf(':') + 1));
  }
  const [only, another] = found;
  return only === undefined || another !== undefined ? undefined : { caller: only[0], name: only[1] };
}

function callerPart(entry: string, trustDomain: string | undefined): string | undefined {
  if (entry.startsWith('DNS:')) return callerOfName(entry.slice('DNS:'.length), trustDomain);
  const prefix = `URI:spiffe://${trustDomain === undefined ? '' : `${trustDomain}/`}`;
  return entry.startsWith(prefix) ? entry.split('/').at(-1) : undefined;
}

function callerOfName(name: string, trustDomain: string | undefined): string | undefined {
  const [caller = ''] = name.split('.', 1);
  if (trustDomain === undefined || name === caller || name === `${caller}.${trustDomain}`) return caller;
  return caller === 'introspector' && name.endsWith(`.${trustDomain}`) ? caller : undefined;
}
