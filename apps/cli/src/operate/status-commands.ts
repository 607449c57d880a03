import type { Command } from '../command.ts';
import type { Verb } from './status.ts';

const declared =
  'Declared state that names a `status` decides again whenever it is applied; state that names none leaves it.';
const issued =
  'It is known everywhere within a second. Access tokens that were issued live until they expire, ten minutes by default.';
const stays = 'What ended with it stays ended: people sign in again.';

const tenant = { type: 'string', help: 'The tenant', required: true } as const;

/** A command for each way to set the status of something. */
function both(
  noun: string,
  summaries: Readonly<Record<Verb, string>>,
  ends: string,
  { options, set }: { options: Command['options']; set: (verb: Verb) => Command['run'] },
): Command[] {
  return [
    {
      words: [noun, 'disable'],
      summary: summaries.disable,
      details: [ends, issued, declared].join('\n'),
      options,
      run: set('disable'),
    },
    {
      words: [noun, 'enable'],
      summary: summaries.enable,
      details: [stays, declared].join('\n'),
      options,
      run: set('enable'),
    },
  ];
}

/** Whom operators let in and out, with the code that does it loaded when it is asked for. */
export const statusCommands: readonly Command[] = [
  ...both(
    'tenant',
    { disable: 'let nobody of a tenant in, person or application', enable: 'let a tenant in again' },
    'It ends the sessions, codes, refresh tokens and decisions of all its people.',
    {
      options: { tenant },
      set: (verb) => async (values, terminal) => {
        const { setTenantStatus } = await import('./status.ts');
        await setTenantStatus(values.required('tenant'), verb, terminal);
      },
    },
  ),
  ...both(
    'application',
    { disable: 'give an application nothing any more', enable: 'let an application in again' },
    'It ends the codes, refresh tokens and decisions that the application has. The sessions of its people go on elsewhere.',
    {
      options: { 'client-id': { type: 'string', help: 'The application', required: true } },
      set: (verb) => async (values, terminal) => {
        const { setApplicationStatus } = await import('./status.ts');
        await setApplicationStatus(values.required('client-id'), verb, terminal);
      },
    },
  ),
  ...both(
    'user',
    { disable: 'let a person in no more', enable: 'let a person in again, who was disabled or locked' },
    'It ends the sessions, codes, refresh tokens and decisions of the person.',
    {
      options: {
        tenant,
        username: { type: 'string', help: 'User name, e-mail address or phone number', required: true },
      },
      set: (verb) => async (values, terminal) => {
        const { setUserStatus } = await import('./status.ts');
        const person = { tenantId: values.required('tenant'), identifier: values.required('username') };
        await setUserStatus(person, verb, terminal);
      },
    },
  ),
];
