import type { CallerName } from './call.ts';

const callerNames: Readonly<Record<CallerName, true>> = {
  gateway: true,
  authorize: true,
  token: true,
  device: true,
  keys: true,
  directory: true,
  operator: true,
  introspector: true,
};

/** Whether the value names one of the processes that may call. */
export function isCallerName(value: string): value is CallerName {
  return Object.hasOwn(callerNames, value);
}

/**
 * Who a certificate speaks for, from its subject alternative names: the DNS name `<caller>` or `<caller>.<anything>`,
 * or a SPIFFE id whose last segment is the caller. Undefined when it names nobody, or more than one.
 * @param subjectAltName as Node prints it: `DNS:token, URI:spiffe://example/token`
 */
export function certifiedCaller(subjectAltName: string | undefined): CallerName | undefined {
  return certified(subjectAltName)?.caller;
}

/** The caller of a certificate with the name that says so, as it stands there. */
export interface CertifiedName {
  readonly caller: CallerName;
  /** A DNS name or a SPIFFE id. */
  readonly name: string;
}

export function certified(subjectAltName: string | undefined): CertifiedName | undefined {
  // Node quotes only names that could be mistaken for a list; none of ours is one.
  if (subjectAltName === undefined || subjectAltName.includes('"')) return undefined;
  const found = new Map<CallerName, string>();
  for (const entry of subjectAltName.split(', ')) {
    const caller = callerPart(entry);
    if (caller === undefined || !isCallerName(caller) || found.has(caller)) continue;
    found.set(caller, entry.slice(entry.indexOf(':') + 1));
  }
  const [only, another] = found;
  return only === undefined || another !== undefined ? undefined : { caller: only[0], name: only[1] };
}

function callerPart(entry: string): string | undefined {
  if (entry.startsWith('DNS:')) return entry.slice('DNS:'.length).split('.', 1)[0];
  if (entry.startsWith('URI:spiffe://')) return entry.split('/').at(-1);
  return undefined;
}
