/**
 * How the change of a field, or the deletion of a record, ends what it makes unusable.
 *
 * - `all`: everything that was issued on the basis of the record ends for good, as `valid_from` rises: sessions,
 *   refresh tokens, codes, decisions, consents and links to a password. Of a provider: what was issued to the people
 *   who sign in with it.
 * - `refused`: as long as the change stands, no refresh accepts what it makes unusable. Sessions that a policy no
 *   longer accepts end.
 * - `taken`: people lose what only this mapping gave them. What that ends, the field of theirs says.
 * - `renewed`: tokens follow from the next refresh on.
 * - `links`: links that were mailed no longer work; tokens follow as by `renewed`.
 * - `nothing`: what was issued stays as it is. Of a role: nobody has it when it is deleted.
 */
export type Ending = 'all' | 'refused' | 'taken' | 'renewed' | 'links' | 'nothing';

/** A row for each field that can change, which the key never does, and for the deletion. */
export type EndingsOf<R, Key> = { readonly [F in Exclude<keyof R, Key> | 'deleted']-?: Ending };
