import type { Step } from '../interaction/step.ts';
import { createPasswordStep } from './password/password.ts';

/** What the steps work with. */
type StepDeps = Parameters<typeof createPasswordStep>[0];

/** The steps of a visit, in the order in which a person takes those that are due. */
export function createSteps(deps: StepDeps): readonly Step[] {
  return [createPasswordStep(deps)];
}
