/** What identifiers of people begin with that are made here: no client ID does, nor one that somebody is given. */
export const userIdPrefix = 'usr_';

/** Whether a person was given this identifier, as it came from another product. */
export function isGivenUserId(userId: string): boolean {
  return !userId.startsWith(userIdPrefix);
}
