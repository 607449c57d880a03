import type { Refusal } from '@tessera/oauth';
import type { AuditEvent } from './audit-row.ts';

/**
 * The `details` of a refused request, for its row: the given ones, the value that was refused and what may be changed.
 * Without any of them there are no details.
 */
export function refusalDetails(
  { received = '', hint = '' }: Pick<Refusal, 'received' | 'hint'> = {},
  given: AuditEvent['details'] = {},
): Pick<AuditEvent, 'details'> {
  const details = { ...given, ...(received !== '' && { received }), ...(hint !== '' && { hint }) };
  return Object.keys(details).length === 0 ? {} : { details };
}
