import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { setUps } from './set-ups.ts';

/** Starts the end-to-end suite before other end-to-end tests, with most processes first, so that no long file runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Unit tests keep their place, which is before all others. */
function rank({ project }: TestSpecification): number {
  const at = (setUps as readonly string[]).indexOf(project.name);
  if (at >= 0) return -at;
  return project.config.sequence.groupOrder === 0 ? -setUps.length : 1;
}
