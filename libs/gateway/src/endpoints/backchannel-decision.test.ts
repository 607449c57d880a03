import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const open = (behaviours: Behaviours = {}) =>
  openGateway(testRuntime(), { decideByLink: () => ({}), ...behaviours });
const post = (gateway: ReturnType<typeof open>, payload: object, url = '/backchannel_decision?token=tw_1') =>
  gateway.app.inject({ method: 'POST', url, payload });

describe('POST /backchannel_decision', () => {
  it.each([
    ['approve', Decision.APPROVE],
    ['deny', Decision.DENY],
  ])('forwards the decision %s of the link', async (decision, expected) => {
    const gateway = open();
    const answer = await post(gateway, { decision });
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(gateway.requests('decideByLink')).toMatchObject([
      { decisionToken: 'tw_1', decision: expected, ipAddress: '127.0.0.1' },
    ]);
  });

  it('also accepts a form', async () => {
    const gateway = open();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const url = '/backchannel_decision?token=tw_1';
    const answer = await gateway.app.inject({ method: 'POST', url, headers, payload: 'decision=deny' });
    expect(answer.statusCode).toBe(200);
    expect(gateway.requests('decideByLink')).toMatchObject([{ decision: Decision.DENY }]);
  });

  it.each([
    [{}, '/backchannel_decision?token=tw_1'],
    [{ decision: 'yes' }, '/backchannel_decision?token=tw_1'],
    [{ decision: 'approve' }, '/backchannel_decision?token=a&token=b'],
  ])('refuses %j at %s', async (body, url) => {
    const gateway = open();
    expect((await post(gateway, body, url)).statusCode).toBe(400);
    expect(gateway.requests('decideByLink')).toEqual([]);
  });

  it('does not reveal why a link is refused', async () => {
    const gateway = open({
      decideByLink: () => {
        throw new OAuthError('not_found', 'The request is not waiting for a decision.');
      },
    });
    const answer = await post(gateway, { decision: 'approve' });
    expect([answer.statusCode, answer.json()]).toEqual([
      404,
      {
        isSuccess: false,
        error: 'invalid_request',
        message: 'The request is not waiting for a decision.',
      },
    ]);
  });
});
