import { isPeerGiven } from '@tessera/process/settings';
import type { Ended, EndedItem, Impact } from '@tessera/proto-gen/impact';
import { TokenService } from '@tessera/proto-gen/token';
import { isDirect } from '../../contexts/say-where.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { withService } from './with-service.ts';

/** Without what it is still to be counted by. */
type Counted = Omit<Impact, 'ends' | '$typeName' | '$unknown'>;

const timeoutMs = 120_000;

/** Throws CommandError for an impact of a change that is carried out. */
export function requireValidateOnly({
  impact,
  validateOnly,
}: {
  readonly impact?: boolean;
  readonly validateOnly?: boolean;
}): void {
  if (impact === true && validateOnly !== true)
    throw new CommandError('--impact is for --validate-only: it says what the change would end.', 2);
}

/** Completes impacts that the directory answered. Where nobody can count, it says why and leaves them as they are. */
export async function counted(impacts: readonly Impact[], terminal: Terminal): Promise<readonly Counted[]> {
  if (impacts.every(isNothing)) return impacts;
  const { environment, say } = terminal;
  const without = impacts.map(({ ends: _, ...impact }) => impact);
  const notCounted = 'Sessions and refresh tokens are not counted';
  const isCalled = !isDirect(terminal) && isPeerGiven(environment, 'directory');
  if (isCalled && !isPeerGiven(environment, 'token')) {
    say(`${notCounted}: add token=host:port to TESSERA_PEERS.\n`);
    return without;
  }
  try {
    const all = await withService('token', terminal, {
      name: 'Counting',
      changes: false,
      timeoutMs,
      async run(clientOf, call) {
        const { completeImpact } = await import('@tessera/admin/command');
        const completed: Counted[] = [];
        for (const impact of impacts)
          completed.push(await completeImpact(impact, clientOf(TokenService), call));
        return completed;
      },
    });
    if (all.some(({ approvals }) => approvals === undefined)) say('Waiting approvals are not counted.\n');
    return all;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    say(`${notCounted}: ${error.message}\n`);
    return without;
  }
}

function isNothing({ ends }: Impact): boolean {
  if (ends === undefined) return true;
  const { everything, authenticationPolicy, userIds, clientIds, people, applications } = ends;
  const records = [...userIds, ...clientIds, ...people, ...applications];
  return !everything && authenticationPolicy === undefined && records.length === 0;
}

/** What an impact ends, and whose addresses it judges, a line for each kind. */
export function impactLines(tenantId: string, impact: Counted): string[] {
  const { people, usernames, applications, clientIds, noLongerVerified, verifiedAgain } = impact;
  const line = (what: string, count: number, names: readonly string[]) => {
    const rest = count > names.length ? `, and ${count - names.length} more` : '';
    return count === 0 ? [] : [`${tenantId}: ends ${what}: ${names.join(', ')}${rest}\n`];
  };
  const several = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  const ended = (counts: Ended | undefined, one: string, many: string) =>
    counts === undefined
      ? []
      : line(several(counts.total, one, many), counts.total, counts.first.map(nameOf));
  const judged = (count: number, verdict: string) =>
    count === 0
      ? []
      : [`${tenantId}: makes ${several(count, 'e-mail address', 'e-mail addresses')} ${verdict}\n`];
  return [
    ...line(`what was issued to ${several(people, 'person', 'people')}`, people, usernames),
    ...line(
      `what was issued to ${several(applications, 'application', 'applications')}`,
      applications,
      clientIds,
    ),
    ...ended(impact.sessions, 'session', 'sessions'),
    ...ended(impact.refreshFamilies, 'refresh token', 'refresh tokens'),
    ...ended(impact.approvals, 'waiting approval', 'waiting approvals'),
    ...ended(impact.consents, 'consent', 'consents'),
    ...judged(noLongerVerified, 'no longer verified'),
    ...judged(verifiedAgain, 'verified again'),
  ];
}

function nameOf({ id, username, clientId }: EndedItem): string {
  const whose = [username, clientId].filter((name) => name !== '').join(' with ');
  return id === '' ? whose : `${whose} (${id})`;
}
