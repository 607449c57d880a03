/** The provider gives no usable answer. */
export class ProviderUnreachableError extends Error {
  override readonly name = 'ProviderUnreachableError';
}

/** What of an answer cannot be used. `denied`: the person or the provider did not go through with it. */
export class ProviderAnswerError extends Error {
  override readonly name = 'ProviderAnswerError';
  readonly reason: 'denied' | 'invalid';
  constructor(reason: 'denied' | 'invalid', cause: unknown) {
    super(`the answer of the provider is ${reason}`, { cause });
    this.reason = reason;
  }
}

/** The person did not sign in at the provider as lately as they had to. */
export class NotRecentError extends Error {
  override readonly name = 'NotRecentError';
}

/** Nobody of the tenant is signed in by what the provider proved; the message is the reason. */
export class NoAccountError extends Error {
  override readonly name = 'NoAccountError';
}

/** An answer that has nothing to do with what the browser was sent for. */
export function invalidAnswer(cause: string): ProviderAnswerError {
  return new ProviderAnswerError('invalid', cause);
}

export interface RefusedSignIn {
  /** What the page says. */
  readonly problem: string;
  /** What the audit trail says. */
  readonly reason: string;
  readonly detail: string;
}

/** Why a sign-in with a provider came to nothing; undefined for an error of ours. */
export function refusalOf(error: unknown): RefusedSignIn | undefined {
  if (error instanceof ProviderUnreachableError)
    return { problem: 'unreachable', reason: 'provider_unreachable', detail: detailOf(error) };
  if (error instanceof ProviderAnswerError) {
    const { reason } = error;
    return { problem: `${reason}_answer`, reason: `provider_${reason}`, detail: detailOf(error) };
  }
  if (error instanceof NotRecentError)
    return { problem: 'not_recent', reason: 'provider_not_recent', detail: '' };
  if (error instanceof NoAccountError)
    return { problem: 'no_account', reason: 'provider_no_account', detail: error.message };
  return undefined;
}

/**
 * The code of what went wrong, or a sentence of ours: a message of a library may have something of the answer in it.
 */
function detailOf({ message, cause }: Error): string {
  if (typeof cause === 'string') return cause;
  if (!(cause instanceof Error)) return message;
  if ('error' in cause && typeof cause.error === 'string') return cause.error.slice(0, 64);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : message;
}
