import { KeysService, type SigningKey } from '@tessera/proto-gen/admin-keys';
import { Code, ConnectError, timestampMs } from '@tessera/rpc';
import type { Cell } from '@tessera/pages';
import { timeLineOf, type LinePart } from '@tessera/pages/plot';
import { actCell, shortList, timeOrNone } from '../../cells.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

/** The states of a key in their order, as sentences of the languages. */
export const keyStates: Readonly<Record<string, string>> = {
  published: 'Published, signs next',
  active: 'Signs',
  retired: 'Retired, still trusted',
};

/** The keys that sign for an organization: its own, or those of the shared issuer. */
export interface KeysOf {
  /** '' for those of the shared issuer. */
  readonly tenantId: string;
  readonly keys: readonly SigningKey[];
}

/** Reads the keys of an organization. */
export async function keysOf(visit: Visit): Promise<KeysOf> {
  const tenantId = param(visit, 'tenant');
  const list = async (of: string) => {
    const { keys } = await visit.api(KeysService).list({ tenantId: of }, visit.call());
    return { tenantId: of, keys };
  };
  try {
    return await list(tenantId);
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return list('');
    throw error;
  }
}

/** The signing keys, on their way from published to withdrawn. */
export const keysPage: ConsolePage = {
  load: async (visit) => {
    const { tenantId, keys } = await keysOf(visit);
    const path = pathOf(param(visit, 'tenant'), 'keys');
    const list = shortList(
      'Signing keys',
      ['Key', 'Algorithm', 'State', 'Published', 'Signs since', 'Retired', 'End'],
      keys.map((key) => rowOf(key, path)),
      'There is no key.',
    );
    return visit.send({
      template: 'keys',
      message:
        tenantId === ''
          ? 'These keys sign for every organization at the shared issuer.'
          : 'These keys sign for this organization alone.',
      data: { path, list, timeLine: timeLineOfKeys(keys) },
    });
  },
};

/** Each key from when it was published; undefined without one. */
function timeLineOfKeys(keys: readonly SigningKey[]) {
  const now = Date.now();
  const shown = keys.flatMap(({ kid, algorithm, publishTime, activateTime, retireTime }) => {
    if (publishTime === undefined) return [];
    const times = [publishTime, activateTime, retireTime].map((time) => time && timestampMs(time));
    const parts = Object.keys(keyStates).flatMap((state, at): LinePart[] => {
      const from = times[at];
      return from === undefined ? [] : [{ state, from, until: times[at + 1] ?? Math.max(now, from) }];
    });
    return [{ name: `${kid} (${algorithm})`, parts }];
  });
  if (shown.length === 0) return undefined;
  return { caption: 'Signing keys', states: Object.entries(keyStates), ...timeLineOf(shown) };
}

function rowOf(key: SigningKey, path: string): readonly Cell[] {
  const { kid, algorithm, state, publishTime, activateTime, retireTime } = key;
  const withdraw = actCell('Withdraw', `${path}/withdraw/${encodeURIComponent(kid)}`);
  return [
    { text: kid },
    { text: algorithm },
    { sentence: keyStates[state] ?? state },
    timeOrNone(publishTime),
    timeOrNone(activateTime),
    timeOrNone(retireTime),
    state === 'retired' ? withdraw : { text: '' },
  ];
}
