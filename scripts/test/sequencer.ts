import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { setUps } from './set-ups.ts';

/** What takes longest, mostly waiting, starts before all others, so that no long file runs alone at the end. */
export const longest: readonly string[] = [
  'import-keycloak',
  'controller',
  'import-in-parts',
  'plans',
  'administration',
  'isolation',
  'ciba-delivery',
  'changes',
  'decisions',
  'requests',
  'providers.browser',
  'credentials.browser',
  'http-fuzz',
  'account.browser',
  'crashes',
  'introspection',
  'restore',
  'smoke-isolation',
  'passkeys.browser',
  'approvals.browser',
  'passkey-autofill.browser',
  'console.browser',
  'traces',
  'faults',
  'redis-cluster',
  // Of the unit tests, which have a turn of their own.
  'no-right-appears',
  'console-pages.browser',
  'every-page.browser',
  'console-pages',
  'impact-of-states',
  'every-method',
  'wiring',
  'mail',
  'grant-store',
  'notice-worker',
  'second-factors',
  'store.postgres',
  'redis-sentinel',
  'passwords',
  'provider-sign-in',
  'deliveries',
  'run-process',
  'records',
  'first-administrator',
];

/** The suites of one set-up together, so that the same work is not done on all of them in the same seconds. */
const suites = ['changes', 'decisions', 'requests'];

export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const name = basename(moduleId, '.test.ts').replace('.thorough', '');
  const at = longest.indexOf(name);
  if (at < 0) return longest.length;
  if (!suites.includes(name)) return at;
  const setUp = (setUps as readonly string[]).indexOf(project.name);
  return (
    longest.indexOf('changes') + (setUps.length - setUp) / (setUps.length + 1) + suites.indexOf(name) / 100
  );
}
