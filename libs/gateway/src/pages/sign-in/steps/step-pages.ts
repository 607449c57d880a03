import type { Account } from '@tessera/proto-gen/account';
import { consentPage } from './consent-page.ts';
import { mailCodePage } from './mail-code-page.ts';
import { passkeyEnrolmentPage, passkeyPage } from './passkey-pages.ts';
import { passwordPage } from './password-page.ts';
import { providerPage } from './provider-page.ts';
import { recoveryCodesPage, totpEnrolmentPage, totpPage, recoveryCodePage } from './totp-pages.ts';
import type { StepPage, StepView } from './step-page.ts';

/** The pages of the steps. */
const stepPages: readonly StepPage[] = [
  // Before the password: buttons of its form lead to a provider, and to a code.
  providerPage,
  mailCodePage,
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

/**
 * The buttons on the page of the password that take another step in its place: the field that each sends, empty, and
 * its label.
 */
export function buttonsOf(shown: StepView['shown']): { readonly name: string; readonly label: string }[] {
  return stepPages.flatMap(({ fields: [name], button }) => {
    const label = button?.(shown);
    return label === undefined ? [] : [{ name, label }];
  });
}

/** What the account page says of the ways to sign in that it has no section for. */
export function sentencesInAccount(account: Account) {
  return stepPages.flatMap(({ inAccount }) => {
    const sentence = inAccount?.(account);
    return sentence === undefined ? [] : [sentence];
  });
}

/** The page whose form this is; undefined for any other form. */
export function pageOfForm(form: ReadonlyMap<string, string>): StepPage | undefined {
  return stepPages.find(({ fields }) => form.has(fields[0]));
}
