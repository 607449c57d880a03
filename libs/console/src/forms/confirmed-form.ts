import type { FastifyReply } from 'fastify';
import { antiForgeryField, type Field } from '@tessera/pages';
import type { Ends } from '../confirmed.ts';
import type { Sent } from './form-page.ts';
import { fieldsOf, here, type Visit } from '../console-visit.ts';

/** Names the field with which a form comes a second time. */
const confirmedField = 'confirmed';

/**
 * Where a change would end something, answers a form with a page that says so, and that sends the same form again.
 * Resolves with undefined where nothing ends, or somebody has confirmed.
 */
export async function confirmedBefore(
  visit: Visit,
  { form }: Pick<Sent, 'form'>,
  {
    ends,
    back,
    title,
    message,
    label,
  }: {
    readonly ends: () => Promise<Ends>;
    readonly title: string;
    readonly message: string;
    readonly label: string;
    readonly back: string;
  },
): Promise<FastifyReply | undefined> {
  if (form.get(confirmedField) === 'yes') return undefined;
  const { sentences, total } = await ends();
  if (total === 0) return undefined;
  return visit.send({
    template: 'kit/confirm',
    title,
    message,
    data: {
      ends: sentences,
      label,
      path: here(visit),
      back,
      fields: fieldsAgain(visit, { form }, confirmedField),
    },
  });
}

/** The hidden fields that send a form again, with one more that says what somebody has answered. */
export function fieldsAgain(visit: Visit, { form }: Pick<Sent, 'form'>, answer: string): readonly Field[] {
  const again = [...form]
    .filter(([name]) => name !== antiForgeryField)
    .map(([name, value]) => ({ name, value }));
  return fieldsOf(visit, [...again, { name: answer, value: 'yes' }]);
}
