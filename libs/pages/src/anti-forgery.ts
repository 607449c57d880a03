import { createHmac, timingSafeEqual } from 'node:crypto';
import { OAuthError } from '@tessera/oauth';

/**
 * Values that prove a form was served to the browser that sends it: an HMAC under the browser's own cookie over what
 * the form is for, so that neither another browser's form nor another form of the same browser passes.
 */
export interface AntiForgery {
  /** The value of a form's hidden field. `purpose` names the form and what it acts on. */
  token(browserId: string, purpose: string): string;
  /** Whether `token` was given to this browser for this purpose. */
  proves(browserId: string, purpose: string, token: string): boolean;
  /** Throws `access_denied` unless the form is the browser's own and was sent from a page of ours. */
  check(form: SentForm): void;
}

export interface SentForm {
  /** '' when the browser sent no cookie. */
  readonly browserId: string;
  readonly purpose: string;
  readonly token: string;
  readonly issuer: string;
  readonly origin: string | undefined;
  /** The Sec-Fetch-Site header (W3C Fetch Metadata §2.3). */
  readonly fetchSite: string | undefined;
}

export const antiForgery: AntiForgery = {
  token: (browserId, purpose) =>
    createHmac('sha256', browserId).update(`csrf\0${purpose}`).digest('base64url'),
  proves: (browserId, purpose, token) => {
    const expected = Buffer.from(antiForgery.token(browserId, purpose));
    const given = Buffer.from(token);
    return browserId !== '' && given.length === expected.length && timingSafeEqual(given, expected);
  },
  check: (form) => {
    if (!antiForgery.proves(form.browserId, form.purpose, form.token) || isForeign(form)) {
      throw new OAuthError(
        'access_denied',
        'This form is no longer valid in this browser. Go back and try again.',
      );
    }
  },
};

/**
 * Our pages ask browsers to send no referrer, so that the Origin of an honest form is `null` (Fetch §3.2): only a
 * foreign origin that is named speaks against it.
 */
function isForeign({ origin, fetchSite, issuer }: SentForm): boolean {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return true;
  return origin !== undefined && origin !== 'null' && origin !== new URL(issuer).origin;
}
