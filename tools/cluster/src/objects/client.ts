import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { host } from '../declared-state.ts';
import { podOf, until, type Namespace } from '../kubernetes.ts';
import { difference } from '../load.ts';

/** How often a client got which answer: a status, or the code of an error. */
export type Answers = Readonly<Record<string, number>>;

interface Line {
  readonly answers: Answers;
  readonly last: string;
  readonly clientId?: string;
}

/** A service without a secret, which asks for access tokens all the time with the token of its platform. */
export interface Client {
  readonly name: string;
  /** The client identifier of its last access token, once that is its last answer. */
  hasToken(): Promise<string>;
  /** Resolves once this is its last answer. */
  gets(answer: string): Promise<void>;
  answers(): Promise<Answers>;
}

export interface ClientToStart {
  readonly name: string;
  readonly image: string;
  /** Of Tessera. */
  readonly base: string;
  /** Whose only workload it is, and which it is itself; absent: it has the token of the service account of its name. */
  readonly issuer?: string;
  /** Applied with it, before its pod. */
  readonly beside?: readonly object[];
}

const tokenFolder = '/run/tessera';

/** What `kubectl apply` makes of a service: its service account, its pod, and what stands beside them. */
export async function startClient(on: Namespace, client: ClientToStart): Promise<Client> {
  const { name, image, base, issuer, beside = [] } = client;
  const script = readFileSync(join(import.meta.dirname, '..', 'client-script.ts'), 'utf8');
  const serviceAccountToken = { path: 'token', audience: `https://${host}`, expirationSeconds: 3600 };
  const token = { projected: { defaultMode: 0o440, sources: [{ serviceAccountToken }] } };
  const source = issuer ?? `${tokenFolder}/token`;
  const pod = podOf({
    name,
    image,
    command: ['node', '/client/client.mts', base, host, source],
    serviceAccount: name,
    mounts: {
      '/client': { configMap: { name } },
      ...(issuer === undefined && { [tokenFolder]: token }),
    },
  });
  await on.apply([
    ...beside,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name }, automountServiceAccountToken: false },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { 'client.mts': script } },
    pod,
  ]);

  const last = () =>
    until(`${name} of ${on.name} prints nothing`, async () => {
      const text = await on.kubectl(['logs', name, '--tail=1']).catch(() => '');
      return text.trim() === '' ? undefined : (JSON.parse(text) as Line);
    });
  const answering = (answer: string) =>
    until(`${name} of ${on.name} does not get ${answer}`, async () => {
      const line = await last();
      return line.last === answer ? line : undefined;
    });
  return {
    name,
    hasToken: async () => (await answering('200')).clientId ?? '',
    gets: async (answer) => void (await answering(answer)),
    answers: async () => (await last()).answers,
  };
}

/** What a client got since it had got that. */
export async function answersSince(client: Client, before: Answers): Promise<Answers> {
  const { name } = client;
  return difference({ [name]: before }, { [name]: await client.answers() })[name] ?? {};
}

export const describeAnswers = (answers: Answers): string =>
  Object.entries(answers)
    .map(([answer, times]) => `${times} × ${answer}`)
    .join(', ');
