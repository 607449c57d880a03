import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Browser } from 'playwright-core';
import { walk } from './browser.ts';
import type { Type } from './variants.ts';

const callback = 'http://localhost:19400/callback';

interface Holder {
  readonly clientId: string;
  readonly type: Type;
  readonly secret: string;
  readonly scope: string;
}

/** An access token as an API receives it: a service's own, or of the person who signed in with a public application. */
export async function accessToken(browser: Browser, issuer: string, holder: Holder): Promise<string> {
  const { clientId, type, secret, scope } = holder;
  if (type === 'public') return ofPerson(browser, issuer, holder);
  const authorization = `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`;
  return redeem(issuer, { grant_type: 'client_credentials', scope }, { authorization });
}

async function ofPerson(browser: Browser, issuer: string, { clientId, scope }: Holder): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: callback,
    response_type: 'code',
    scope: `openid ${scope}`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const application = createServer((_request, response) => response.end('Done.'));
  application.listen(19400, 'localhost');
  await once(application, 'listening');
  const context = await browser.newContext();
  try {
    const { url } = await walk(await context.newPage(), `${issuer}/authorize?${query.toString()}`, issuer);
    const code = new URL(url).searchParams.get('code') ?? '';
    return await redeem(issuer, {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: callback,
      code,
      code_verifier: verifier,
    });
  } finally {
    await context.close();
    application.closeAllConnections();
    application.close();
  }
}

async function redeem(issuer: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(form),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`The token endpoint answered ${answer.status}.`);
  return token;
}
