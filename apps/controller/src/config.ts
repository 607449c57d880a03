import { duration, integer, list } from '@tessera/process';
import { z } from 'zod';

const name = /^[a-z0-9][a-z0-9-]*$/;

/** Settings of the controller. Durations are in seconds. */
export const controllerConfig = z.object({
  /** Where the API server is, outside of a cluster. */
  KUBECONFIG: z.string().min(1).optional(),
  /** Said by the cluster to its pods. */
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  /** Where administration is served. */
  TESSERA_API: z.url({ protocol: /^https?$/, error: 'expected the address of the administration API' }),
  /** Its authority in PEM, read again when it changes; absent: those of Node. */
  TESSERA_API_CA_FILE: z.string().min(1).optional(),
  /** The issuer whose application the controller is: that of the operator tenant, or of the one tenant. */
  TESSERA_ISSUER: z.url({ protocol: /^https?$/, error: 'expected an issuer such as https://id.example.com' }),
  /** The token by which it proves to be that application, read for each access token. */
  TESSERA_CLIENT_ASSERTION_FILE: z.string().min(1),
  /** Pairs such as `shop=acme`: in which tenant the objects of a namespace are records. */
  TESSERA_CONTROLLER_NAMESPACES: list().transform((entries, context) => {
    const pairs = entries.map((entry) => entry.split('='));
    const wrong = pairs.find((pair) => pair.length !== 2 || !pair.every((part) => name.test(part)));
    if (wrong !== undefined)
      context.addIssue({
        code: 'custom',
        message: 'expected pairs of a namespace and a tenant, such as shop=acme',
      });
    const tenants = new Map(pairs.map(([namespace = '', tenant = '']) => [namespace, tenant]));
    if (tenants.size < pairs.length)
      context.addIssue({ code: 'custom', message: 'expected each namespace once' });
    return tenants;
  }),
  /** Tells the owners of this cluster from those of others, as in `k8s:west:shop/orders`; absent: `k8s:shop/orders`. */
  TESSERA_CONTROLLER_CLUSTER: z.string().regex(name, 'expected lower-case letters, digits and -').optional(),
  /** Issuers besides that of the cluster that objects may trust. */
  TESSERA_CONTROLLER_TRUSTED_ISSUERS: list(),
  /** How many sessions, refresh tokens, approvals and consents a deletion ends without being confirmed. */
  TESSERA_CONTROLLER_DELETION_LIMIT: integer(10),
  /** How often every record is compared with its object. */
  TESSERA_CONTROLLER_RESYNC: duration('10m', { min: '1s', max: '1d' }),
});

export type ControllerConfig = z.infer<typeof controllerConfig>;
