import { Code, ConnectError, type Client } from '@tessera/rpc';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { BrowserCall } from '../browser-call.ts';
import { longestIdentifier } from './guess-counters.ts';
import type { Guess } from './guess-limits.ts';

/** The person with an identifier as it was typed, whom a guess is about; undefined for an unknown one. */
export async function findPerson(
  directoryService: Pick<Client<typeof DirectoryService>, 'findUser'>,
  { call }: BrowserCall,
  { tenantId, identifier }: Pick<Guess, 'tenantId' | 'identifier'>,
): Promise<User | undefined> {
  if (!isPossible(identifier, longestIdentifier)) return undefined;
  try {
    return (await directoryService.findUser({ tenantId, identifier }, call.onward())).user;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}

/** Whether a stored value can match it. */
export function isPossible(value: string, longest: number): boolean {
  return value !== '' && value.length <= longest;
}
