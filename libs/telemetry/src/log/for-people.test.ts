import { describe, expect, it } from 'vitest';
import { temporarilyUnavailable } from '@tessera/oauth';
import { formatForPeople } from './for-people.ts';
import { createLogger } from './log.ts';
import type { Logger } from './log.ts';

function captured(): { log: Logger; lines: () => string[] } {
  let text = '';
  const log = createLogger(
    { service: 'token', level: 'info', format: formatForPeople({ colorize: false }) },
    { write: (line: string) => void (text += line) },
  );
  return { log, lines: () => text.split('\n').slice(0, -1) };
}

describe('a line of the log for people', () => {
  it('has the time, level, process and message first, then the other fields', () => {
    const { log, lines } = captured();
    log
      .child({ requestId: '01M7' })
      .info({ route: '/token', status: 200, ms: 1.5, why: 'two words' }, 'request');
    expect(lines()[0]).toMatch(
      /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: token: request \{"requestId":"01M7","route":"\/token","status":200,"ms":1\.5,"why":"two words"\}$/,
    );
  });

  it('reports an error by its messages and codes, down to the last cause', () => {
    const { log, lines } = captured();
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    log.warn({ err: temporarilyUnavailable(cause) }, 'waiting');
    expect(lines()[0]).toMatch(
      /WARN: token: waiting \{"err":".* \(temporarily_unavailable\) <- connect ECONNREFUSED \(ECONNREFUSED\)"\}$/,
    );
  });

  it('is one line without control characters, whatever the texts hold', () => {
    const { log, lines } = captured();
    const hostile = 'x\r\n\u001b[31m\u009b31m\u202egnp\u2028\u0000"y';
    log.info({ [hostile]: hostile, nested: { [hostile]: [hostile] } }, hostile);
    log.child({ component: hostile }).warn(new Error(hostile, { cause: new Error(hostile) }));
    log.info({ name: hostile, pid: hostile, hostname: hostile, caller: hostile }, 'placed by the library');
    log.child({ name: hostile }).info('placed by the library');
    expect(lines()).toHaveLength(4);
    expect(lines().join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
  });

  it('contains no secret', () => {
    const { log, lines } = captured();
    const canary = 'CANARY0123456789abcdef';
    log.info(
      { password: canary, note: `Bearer ${canary}`, nested: { accessToken: canary } },
      `code=${canary}`,
    );
    log.error(new Error(`refused tr_01JABCDEF.${canary}`));
    expect(lines().join('\n')).not.toContain(canary);
    expect(lines()[0]).toContain('[redacted]');
  });
});
