import { auditPage, auditPageToken } from '@tessera/audit';
import {
  AuditEventSchema,
  AuditService,
  SearchAuditResponseSchema,
  type SearchAuditRequest,
} from '@tessera/proto-gen/admin-audit';
import { BatchGetUsersResponseSchema } from '@tessera/proto-gen/directory';
import { Code, ConnectError, create, local, rootCall, route, type BuiltService } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { mergedAudit } from './merge-audit.ts';

/**
 * A service with these events, the latest first, that looks through some at once and finds those whose number divides.
 */
function ownerOf(eventIds: readonly string[], rowsAtOnce: number, divisor: number) {
  const matches = (eventId: string) => Number(eventId) % divisor === 0;
  const built: BuiltService = {
    name: 'directory',
    routes: [
      route(AuditService, {
        search(request: SearchAuditRequest) {
          const { before, size } = auditPage(request);
          const rest = eventIds.filter((eventId) => eventId < before);
          const stretch = rest.slice(0, rowsAtOnce);
          const found = stretch.filter(matches);
          const events = found.slice(0, size).map((eventId) => ({ eventId }));
          const oldest = stretch.length < rest.length ? stretch.at(-1) : undefined;
          const next = found.length > size ? events.at(-1)?.eventId : oldest;
          return { events, nextPageToken: auditPageToken(next, request) };
        },
      }),
    ],
    ready: async () => {},
    close: async () => {},
  };
  return local(AuditService, built, 'admin');
}

const nobody = { batchGetUsers: async () => Promise.reject(new Error('not asked')) };

it('calls people by their names in the trail of one tenant, with one call, and asks for nobody else', async () => {
  const subjects = ['usr_ada', 'usr_bob', 'usr_ada', 'web', ''];
  const events = subjects.map((subject, at) =>
    create(AuditEventSchema, { eventId: String(9 - at).padStart(26, '0'), subject }),
  );
  const owner = {
    search: async () => create(SearchAuditResponseSchema, { events }),
  };
  const asked: unknown[] = [];
  const directory = {
    async batchGetUsers(request: unknown) {
      asked.push(request);
      const users = [
        { userId: 'usr_ada', name: 'Ada Lovelace', username: 'ada' },
        { userId: 'usr_bob', username: 'bob' },
      ];
      return create(BatchGetUsersResponseSchema, { users });
    },
  };
  const merged = mergedAudit([owner], directory, silentLog());
  const found = await merged.search({ tenantId: 'acme' }, rootCall('test'));
  expect(found.events.map(({ subjectName }) => subjectName)).toEqual([
    'Ada Lovelace',
    'bob',
    'Ada Lovelace',
    '',
    '',
  ]);
  expect(asked).toEqual([{ tenantId: 'acme', userIds: ['usr_ada', 'usr_bob', 'web'] }]);
  const everywhere = await merged.search({}, rootCall('test'));
  expect([everywhere.events[0]?.subjectName, asked.length]).toEqual(['', 1]);
});

it('finds events without names where a directory of an earlier version names nobody to administration, and logs it once a minute', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const events = [create(AuditEventSchema, { eventId: '1'.padStart(26, '0'), subject: 'usr_ada' })];
  const owner = { search: async () => create(SearchAuditResponseSchema, { events }) };
  const lines: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void lines.push(line) };
  const refusing = (code: Code) => {
    const batchGetUsers = async () => Promise.reject(new ConnectError('admin may not call it', code));
    return mergedAudit([owner], { batchGetUsers }, log);
  };
  const refused = refusing(Code.PermissionDenied);
  for (let time = 0; time < 20; time += 1) {
    const found = await refused.search({ tenantId: 'acme' }, rootCall('test'));
    expect(found.events.map(({ subject, subjectName }) => [subject, subjectName])).toEqual([['usr_ada', '']]);
  }
  const reason = expect.stringContaining('admin may not call it') as string;
  const message = 'audit trail without names: directory refuses to name people';
  expect(lines).toEqual([[{ reason }, message]]);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toEqual([[{ reason, repeated: 19 }, message]]);
  const unavailable = refusing(Code.Unavailable).search({ tenantId: 'acme' }, rootCall('test'));
  await expect(unavailable).rejects.toMatchObject({ code: Code.Unavailable });
  expect(lines).toHaveLength(2);
});

it('finds every event of every service once, the latest first, however far each looks at once', async () => {
  const trails = fc.array(fc.tuple(fc.array(fc.nat(60)), fc.integer({ min: 1, max: 9 })), {
    minLength: 1,
    maxLength: 4,
  });
  const property = fc.asyncProperty(
    trails,
    fc.integer({ min: 1, max: 7 }),
    fc.integer({ min: 1, max: 4 }),
    async (given, pageSize, divisor) => {
      const taken = new Set<number>();
      const owners = given.map(([numbers, rowsAtOnce]) => {
        const own = [...new Set(numbers)].filter((number) => !taken.has(number));
        for (const number of own) taken.add(number);
        const ids = own.toSorted((a, b) => b - a).map((number) => String(number).padStart(26, '0'));
        return ownerOf(ids, rowsAtOnce, divisor);
      });
      const merged = mergedAudit(owners, nobody, silentLog());
      const found: number[] = [];
      let pageToken = '';
      do {
        const page = await merged.search({ pageSize, pageToken }, rootCall('test'));
        expect(page.events.length).toBeLessThanOrEqual(pageSize);
        found.push(...page.events.map(({ eventId }) => Number(eventId)));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(found).toEqual([...taken].filter((number) => number % divisor === 0).toSorted((a, b) => b - a));
    },
  );
  await fc.assert(property, { numRuns: 200 });
});
