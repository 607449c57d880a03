import { Status } from '@tessera/proto-gen/directory';

/**
 * Only people can be locked: by an administrator or a file. Too many wrong guesses change no status, they only wait.
 */
export type StatusName = 'active' | 'disabled' | 'locked';

const statuses = {
  active: Status.ACTIVE,
  disabled: Status.DISABLED,
  locked: Status.LOCKED,
} as const satisfies Record<StatusName, Status>;

/** A status as messages have it. */
export function statusSent(status: StatusName): { status: Status } {
  return { status: statuses[status] };
}
