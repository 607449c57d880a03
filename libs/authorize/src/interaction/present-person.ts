import type { DirectoryClient } from '@tessera/directory-client';
import type { User } from '@tessera/proto-gen/directory';
import type { BrowserCall } from '../browser-call.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Session } from '../store/session-store.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** Who is signed in in a browser. */
export interface PresentPerson {
  readonly session: Session;
  readonly user: User;
}

/** Who is signed in, by a session that is all that a page of ours needs; undefined if nobody is. */
export type FindPresentPerson = (from: BrowserCall) => Promise<PresentPerson | undefined>;

export function createPresentPerson(deps: {
  readonly sessions: Pick<Sessions, 'find'>;
  readonly directory: Pick<DirectoryClient, 'user' | 'isActive'>;
  readonly dispatcher: Pick<Dispatcher, 'isEnough'>;
}): FindPresentPerson {
  const { sessions, directory, dispatcher } = deps;
  return async (from) => {
    const session = await sessions.find(from);
    if (session === undefined) return undefined;
    const user = await directory.user(session.tenantId, session.userId, from.call.onward());
    if (user === undefined || !directory.isActive(user, session.authentication.time)) return undefined;
    return (await dispatcher.isEnough(from, session)) ? { session, user } : undefined;
  };
}
