import { Code, invalidFields, type ConnectError } from '@tessera/rpc';
import type { ClaimedRecord, RecordTransaction } from '../store/store.ts';
import { isSameContent } from './request-digest.ts';

/** What an earlier create with this request identifier created (AIP-155); undefined if this is the first one. */
export async function claimed(
  records: RecordTransaction,
  requestId: string,
  created: ClaimedRecord & { readonly digest: Buffer },
): Promise<string | undefined> {
  if (requestId === '') return undefined;
  const earlier = await records.claim(requestId, created);
  if (earlier === undefined) return undefined;
  const isSame = earlier.kind === created.kind && isSameContent(created.digest, earlier.digest);
  if (!isSame) throw otherContent();
  return earlier.id;
}

/** Throws InvalidArgument for what is no request identifier. */
export function checkRequestId(requestId: string): void {
  if (/^[\x21-\x7e]{0,128}$/.test(requestId)) return;
  throw invalidFields([
    { field: 'requestId', description: 'must be at most 128 printable ASCII characters' },
  ]);
}

/** For a request identifier that belongs to a create of something else, or of this with other content. */
function otherContent(): ConnectError {
  const description =
    'belongs to a create with other content within the last 24 hours. Take a new one, or repeat that request as it was';
  return invalidFields([{ field: 'requestId', description }], Code.AlreadyExists);
}
