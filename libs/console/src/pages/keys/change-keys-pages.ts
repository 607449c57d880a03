import type { FastifyReply } from 'fastify';
import { KeysService } from '@tessera/proto-gen/admin-keys';
import type { Sentence } from '../../confirmed.ts';
import { problemOf } from '../../shown-refusals.ts';
import {
  fieldsOf,
  here,
  param,
  pathOf,
  sentForm,
  type ConsolePage,
  type Visit,
} from '../../console-visit.ts';
import { keysOf, type KeysOf } from './keys-page.ts';

/** A page that changes the signing keys once somebody has confirmed it. */
interface Change {
  readonly message: string;
  readonly label: string;
  readonly ends: (visit: Visit, found: KeysOf) => readonly Sentence[];
  readonly act: (visit: Visit, tenantId: string) => Promise<unknown>;
  readonly done: { readonly title: string; readonly message: string };
}

function changingKeys({ message, label, ends, act, done }: Change): ConsolePage {
  const show = async (visit: Visit, problem?: string): Promise<FastifyReply> => {
    const found = await keysOf(visit);
    return visit.send({
      template: 'kit/confirm',
      message,
      data: {
        ends: problem === undefined ? ends(visit, found) : [],
        label,
        problem,
        path: here(visit),
        back: pathOf(param(visit, 'tenant'), 'keys'),
        fields: fieldsOf(visit),
      },
    });
  };
  return {
    load: (visit) => show(visit),
    act: async (visit) => {
      sentForm(visit);
      const { tenantId } = await keysOf(visit);
      const problem = await act(visit, tenantId).catch((error: unknown) => problemOf(error, visit));
      if (typeof problem === 'string') return show(visit, problem);
      const next = pathOf(param(visit, 'tenant'), 'keys');
      return visit.send({ template: 'done', ...done, data: { ends: [], next, label: 'Back to the keys' } });
    },
  };
}

const whom = ({ tenantId }: KeysOf): Sentence =>
  tenantId === ''
    ? ['This concerns every organization at the shared issuer']
    : ['This concerns this organization alone'];

/** Publishes the next keys. */
export const rotateKeysPage = changingKeys({
  message:
    'The next keys are published, and sign once verifiers have had time to fetch them. Nobody is signed out.',
  label: 'Rotate the keys',
  ends: (_visit, found) => [whom(found)],
  act: async ({ api, call }, tenantId) => api(KeysService).rotate({ tenantId }, call()),
  done: {
    title: 'The keys are rotated',
    message: 'Old keys are trusted until what they signed has expired.',
  },
});

/** Has the next keys sign at once, as after a leak. */
export const rotateKeysNowPage = changingKeys({
  message:
    'The next keys sign at once. Verifiers that keep their copy of the keys refuse new tokens until it expires. Withdraw the leaked key afterwards.',
  label: 'Rotate the keys at once',
  ends: (_visit, found) => [whom(found)],
  act: async ({ api, call }, tenantId) => api(KeysService).rotate({ tenantId, immediately: true }, call()),
  done: { title: 'New keys sign now', message: 'Withdraw the leaked key, so that nothing it signed counts.' },
});

/** Takes a retired key out of the key set. */
export const withdrawKeyPage = changingKeys({
  message: 'Whatever this key signed is refused as soon as verifiers fetch the keys again.',
  label: 'Withdraw this key',
  ends: (visit, found) => [['The key {key} ends', { key: param(visit, 'key') }], whom(found)],
  act: async (visit, tenantId) =>
    visit.api(KeysService).withdraw({ tenantId, kid: param(visit, 'key') }, visit.call()),
  done: { title: 'The key is withdrawn', message: 'People sign in again where they had tokens of this key.' },
});
