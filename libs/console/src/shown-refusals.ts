import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';

/** What went wrong, as a page says it: in the words of the administration API. */
interface Trouble {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  /** Nobody has foreseen it. */
  readonly isDefect?: boolean;
}

const titles = {
  400: 'This request cannot be completed',
  403: 'You may not do this',
  404: 'Page not found',
  409: 'This cannot be done now',
  503: 'Temporarily unavailable',
} as const;

const statuses: ReadonlyMap<Code, keyof typeof titles> = new Map([
  [Code.InvalidArgument, 400],
  [Code.OutOfRange, 400],
  [Code.PermissionDenied, 403],
  [Code.NotFound, 404],
  [Code.AlreadyExists, 409],
  [Code.FailedPrecondition, 409],
  [Code.Aborted, 409],
  [Code.ResourceExhausted, 503],
  [Code.Unavailable, 503],
  // Of a service that is still of an earlier version.
  [Code.Unimplemented, 503],
  [Code.DeadlineExceeded, 503],
]);

/** Whether the access token of a session no longer counts. */
export function isSignedOut(thrown: unknown): boolean {
  return thrown instanceof OAuthError
    ? thrown.code === 'invalid_token'
    : thrown instanceof ConnectError && thrown.code === Code.Unauthenticated;
}

/** What a page says of an error. */
export function troubleOf(thrown: unknown): Trouble {
  if (thrown instanceof OAuthError) {
    const { status, message } = thrown;
    return { status, message, title: titles[status as keyof typeof titles] ?? titles[400] };
  }
  const status = thrown instanceof ConnectError ? statuses.get(thrown.code) : undefined;
  if (status !== undefined)
    return { status, title: titles[status], message: (thrown as ConnectError).rawMessage };
  const asked = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined;
  if (typeof asked === 'number' && asked >= 400 && asked < 500)
    return { status: asked, title: titles[400], message: 'The request could not be read.' };
  return { status: 500, title: 'Something went wrong', message: 'Internal server error.', isDefect: true };
}

/** A refusal in one sentence; throws what is none. */
export function saidOf(thrown: unknown): string {
  const { status, message } = troubleOf(thrown);
  if (isSignedOut(thrown) || ![400, 403, 409].includes(status)) throw thrown;
  return message;
}

/** What a part of a page says of a refusal, or of a service that does not answer; throws other errors. */
export function saidOfPart(thrown: unknown): string {
  const isAway = !isSignedOut(thrown) && troubleOf(thrown).status === 503;
  return isAway ? 'This part is not available now. Try again later.' : saidOf(thrown);
}

/** What the form of a page shows of a refusal, whose status the page gets. */
export function problemOf(thrown: unknown, { reply }: { readonly reply: FastifyReply }): string {
  const said = saidOf(thrown);
  void reply.code(troubleOf(thrown).status);
  return said;
}

/** What a page says of a record that another one, or its own state, keeps from being acted on; throws what is none. */
export function conflictOf(thrown: unknown, visit: { readonly reply: FastifyReply }): string {
  if (troubleOf(thrown).status !== 409) throw thrown;
  return problemOf(thrown, visit);
}

/** What is wrong with an input: a sentence of the languages. */
export interface InputProblem {
  readonly sentence: string;
  readonly values: Readonly<Record<string, string | number>>;
}

/** What a page itself refuses of a form. */
export class InvalidFormError extends Error {
  override readonly name = 'InvalidFormError';
  readonly problems: readonly (InputProblem & { readonly input: string })[];

  constructor(problems: readonly (InputProblem & { readonly input: string })[]) {
    super('The form is not good.');
    this.problems = problems;
  }
}

/** A refusal as a form shows it. */
export interface Problems {
  /** All of it. */
  readonly said: string;
  /** What is wrong with each field of the record, by its path without the record and without places in lists. */
  readonly byField: ReadonlyMap<string, InputProblem>;
}

/** What a form shows of a refusal, whose status the page gets; throws what is none. */
export function problemsOf(thrown: unknown, visit: { readonly reply: FastifyReply }): Problems {
  if (thrown instanceof InvalidFormError) {
    void visit.reply.code(400);
    return { said: '', byField: new Map(thrown.problems.map((problem) => [problem.input, problem])) };
  }
  const said = problemOf(thrown, visit);
  const violations = thrown instanceof ConnectError ? fieldViolations(thrown) : [];
  const byField = violations.map(({ field, description }) => {
    const [, ...path] = field.replaceAll(/\[[^\]]*\]/g, '').split('.');
    const sentence = `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
    return [path.join('.'), { sentence, values: {} }] as const;
  });
  return { said, byField: new Map(byField.toReversed()) };
}
