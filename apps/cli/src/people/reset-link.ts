import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { printed } from '../print-records.ts';
import type { Format, PersonOptions } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { newPasswordLink, shownLink, withPerson } from './password-link.ts';

export interface ResetOptions extends PersonOptions {
  readonly issuer?: string;
  readonly mail?: boolean;
  readonly output: Format;
}

/** Prints, or mails, a link with which a person sets a new password. Throws CommandError. */
export async function resetLink(options: ResetOptions, terminal: Terminal): Promise<void> {
  const { mail = false } = options;
  const { called, result: made } = await withPerson(
    options,
    terminal,
    'Making a link',
    async (callees, person) => ({
      userId: person.userId,
      link: await newPasswordLink(callees, { ...person, purpose: 'reset', mail }),
    }),
  );
  if (mail) return terminal.say(`A link is on its way to ${called}.\n`);
  const link = { userId: made.userId, ...shownLink(made.link, await issuerOf(options, terminal)) };
  terminal.out(await printed(link, options.output, Object.keys(link)));
  terminal.say('Give the link to this person alone; it is not shown again.\n');
}
