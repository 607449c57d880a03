/** An object of Kubernetes that declares an application, with a trust in the service account of its name. */
export const applicationObject = (name: string, spec: object = {}) => ({
  apiVersion: 'tessera.dev/v1alpha1',
  kind: 'TesseraApplication' as const,
  metadata: { name },
  spec: {
    name: `The service ${name}`,
    type: 'confidential',
    grantTypes: ['client_credentials'],
    scopes: ['goods.read'],
    trusts: [{ serviceAccount: name }],
    ...spec,
  },
});
