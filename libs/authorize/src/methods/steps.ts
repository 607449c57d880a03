import type { Step } from '../interaction/step.ts';
import { createPasswordStep } from './password/password.ts';

/** What the steps work with. */
type StepDependencies = Parameters<typeof createPasswordStep>[0];

/** The steps of a visit, in the order in which a person takes those that are due. */
export function createSteps(deps: StepDependencies): readonly Step[] {
  return [createPasswordStep(deps)];
}
