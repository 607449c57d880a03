import type { AuditBatch } from '@tessera/audit';
import type { Runtime } from '@tessera/process';
import type { Step } from '../visits/step.ts';
import { createConsentAudit } from '../consent/consent-audit.ts';
import { createConsentStep } from '../consent/consent.ts';
import { createConsentStore } from '../consent/consents.postgres.ts';
import { createMailCodeStep } from '../methods/mail-code/mail-code.ts';
import { createPasswordStep } from '../methods/password/password.ts';
import { createPasskeyEnrolmentStep } from '../methods/passkey/passkey-enrolment.ts';
import { createPasskeyDomain } from '../methods/passkey/passkey-domain.ts';
import { createPasskeyStep } from '../methods/passkey/passkey.ts';
import { createRecoveryCodesStep } from '../methods/totp/keep-recovery-codes.ts';
import { createRecoveryCodeStep } from '../methods/totp/recovery-code.ts';
import { createTotpEnrolmentStep } from '../methods/totp/totp-enrolment.ts';
import { createTotpStep } from '../methods/totp/one-time-code.ts';
import { createProviderStep } from '../methods/upstream/provider-step.ts';

/** What the steps work with. A step that keeps something makes its store, and its audit events, of these here. */
type StepDeps = Parameters<typeof createPasswordStep>[0] &
  Parameters<typeof createTotpStep>[0] &
  Omit<Parameters<typeof createPasskeyStep>[0], 'passkeyDomain'> &
  Parameters<typeof createPasskeyDomain>[0] &
  Parameters<typeof createProviderStep>[0] &
  Pick<Parameters<typeof createConsentStep>[0], 'directory'> & {
    readonly runtime: Pick<Runtime, 'database' | 'clock' | 'random'>;
    readonly batch: AuditBatch;
  };

/** The steps of a visit, in the order in which a person takes those that are due. */
export function createSteps(deps: StepDeps): readonly Step[] {
  const passkeyDomain = createPasskeyDomain(deps);
  return [
    // Before the password: who has asked for a code enters it.
    createMailCodeStep(deps),
    createPasswordStep(deps),
    createProviderStep(deps),
    createTotpStep(deps),
    createPasskeyStep({ ...deps, passkeyDomain }),
    createRecoveryCodeStep(deps),
    createTotpEnrolmentStep(deps),
    createRecoveryCodesStep(deps),
    createPasskeyEnrolmentStep({ ...deps, passkeyDomain }),
    createConsentStep({
      directory: deps.directory,
      consents: createConsentStore(deps.runtime.database),
      audit: createConsentAudit(deps.batch, deps.runtime),
    }),
  ];
}
