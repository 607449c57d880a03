import type { FileProgress } from '@tessera/directory/apply-file';

/** What people see who wait while a file is applied or compared. */
interface ShownProgress extends Required<Pick<FileProgress, 'read' | 'began'>> {
  is(): string;
}

const written = new Intl.NumberFormat('en');

/** @param doing such as `Applying` */
export function shownProgress(doing: string): ShownProgress {
  let what = doing;
  let ids: readonly string[] = [];
  return {
    is: () => what,
    read(tenants) {
      ids = tenants.map(({ id }) => id);
      const [only, ...others] = ids;
      const people = sum(tenants.map(({ users }) => users.length));
      const applications = sum(tenants.map((tenant) => tenant.applications.length));
      const contents = [
        ...numbered(people, 'person', 'people'),
        ...numbered(applications, 'application', 'applications'),
      ].join(', ');
      const whose = others.length === 0 ? (only ?? '') : `${ids.length} tenants`;
      what = `${doing} ${whose}${contents === '' ? '' : `: ${contents}`}`.trimEnd();
    },
    began(tenantId) {
      what = `${doing} ${tenantId}, ${ids.indexOf(tenantId) + 1} of ${ids.length}`;
    },
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function numbered(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${written.format(count)} ${count === 1 ? one : many}`];
}
