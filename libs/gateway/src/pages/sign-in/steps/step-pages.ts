import { consentPage } from './consent-page.ts';
import { passkeyEnrolmentPage, passkeyPage } from './passkey-pages.ts';
import { passwordPage } from './password-page.ts';
import { providerPage } from './provider-page.ts';
import { recoveryCodesPage, totpEnrolmentPage, totpPage, recoveryCodePage } from './totp-pages.ts';
import type { StepPage } from './step-page.ts';

/** The pages of the steps. */
const stepPages: readonly StepPage[] = [
  // Before the password: a button of its form leads to a provider.
  providerPage,
  passwordPage,
  totpPage,
  passkeyPage,
  recoveryCodePage,
  totpEnrolmentPage,
  recoveryCodesPage,
  passkeyEnrolmentPage,
  consentPage,
];

/** The page of a step; undefined for a step of a newer `authorize`. */
export function pageOfStep(name: string): StepPage | undefined {
  return stepPages.find((page) => page.name === name);
}

/** The page whose form this is; undefined for any other form. */
export function pageOfForm(form: ReadonlyMap<string, string>): StepPage | undefined {
  return stepPages.find(({ fields }) => form.has(fields[0]));
}
