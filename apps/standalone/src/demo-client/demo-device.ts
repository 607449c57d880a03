import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Random } from '@tessera/kit';
import { Remembered } from './remembered.ts';

export const demoDeviceClientId = 'demo-tv';
const deviceCookie = 'tessera_demo_device';
const scope = 'openid profile offline_access orders.read';

export interface DemoDeviceDeps {
  readonly issuer: () => string;
  readonly clock: Clock;
  readonly random: Random;
  page(reply: FastifyReply, template: string, data: object): Promise<FastifyReply>;
  /** Shows the answer of `POST /token`. */
  received(reply: FastifyReply, answer: Record<string, unknown>): Promise<FastifyReply>;
}

interface Started {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly completeUri: string;
  intervalSeconds: number;
  /** Milliseconds since the epoch; a page that is reloaded sooner does not poll. */
  nextPoll: number;
}

/** A page that acts as a device without a keyboard (RFC 8628): shows the code as text and QR code, and polls. */
export function demoDevice(deps: DemoDeviceDeps): (app: FastifyInstance) => void {
  const { issuer, clock, page } = deps;
  const devices = new Remembered<Started>(clock, deps.random);

  async function wait(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const id = request.cookies[deviceCookie] ?? '';
    const device = devices.find(id);
    if (device === undefined) return page(reply, './demo-failed', startAgain);
    if (clock.now() >= device.nextPoll) {
      const answer = await poll(issuer(), device);
      if (answer['access_token'] !== undefined) {
        devices.take(id);
        return deps.received(reply, answer);
      }
      if (answer['error'] === 'slow_down') device.intervalSeconds += 5;
      else if (answer['error'] !== 'authorization_pending') {
        devices.take(id);
        return page(reply, './demo-failed', {
          error: answer['error'],
          description: answer['error_description'],
        });
      }
      device.nextPoll = clock.now() + device.intervalSeconds * 1000;
    }
    // Imported here, so that a server without the demo does not load it.
    const { renderSVG } = await import('uqr');
    const code = renderSVG(device.completeUri, { border: 2 });
    return page(reply, './demo-device', {
      ...device,
      verificationUri: `${issuer()}/device`,
      image: `data:image/svg+xml;base64,${Buffer.from(code).toString('base64')}`,
    });
  }

  return (app) => {
    app.get('/demo/device', async (_request, reply) => {
      const answer = await postForm(`${issuer()}/device_authorization`, {
        client_id: demoDeviceClientId,
        scope,
      });
      if (typeof answer['device_code'] !== 'string') {
        return page(reply.code(502), './demo-failed', {
          error: answer['error'],
          description: answer['error_description'],
        });
      }
      const id = devices.keep({
        deviceCode: answer['device_code'],
        userCode: String(answer['user_code']),
        completeUri: String(answer['verification_uri_complete']),
        intervalSeconds: Number(answer['interval']),
        nextPoll: 0,
      });
      return reply
        .setCookie(deviceCookie, id, { path: '/demo/', httpOnly: true, sameSite: 'lax', maxAge: 600 })
        .redirect('/demo/device/wait', 302);
    });
    app.get('/demo/device/wait', async (request, reply) => wait(request, reply));
  };
}

const startAgain = { error: 'Unknown device', description: 'Start again.' };

const poll = async (issuer: string, { deviceCode }: Started): Promise<Record<string, unknown>> =>
  postForm(`${issuer}/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: demoDeviceClientId,
    device_code: deviceCode,
  });

async function postForm(
  url: string,
  form: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(5000),
  });
  return (await answer.json()) as Record<string, unknown>;
}
