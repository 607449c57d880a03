import { auditPage, auditPageToken } from '@tessera/audit';
import { AuditService, type SearchAuditRequest } from '@tessera/proto-gen/admin-audit';
import { local, rootCall, route, type BuiltService } from '@tessera/rpc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
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
      const merged = mergedAudit(owners);
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
