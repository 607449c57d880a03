import { describe, expect, it } from 'vitest';
import type { Kind, Spec, TesseraObject } from '../objects.ts';
import { clientIdOf, declarationOf, NotOfThisNamespace, ownerOf } from './declare.ts';

const clusterIssuer = 'https://kubernetes.default.svc.cluster.local';
const surroundings = { cluster: undefined, clusterIssuer, trustedIssuers: ['https://ci.example'] };

const object = (spec: Spec, kind: Kind = 'TesseraApplication'): TesseraObject => ({
  apiVersion: 'tessera.dev/v1alpha1',
  kind,
  metadata: { namespace: 'shop', name: 'orders', uid: 'u', resourceVersion: '1', generation: 1 },
  spec,
});
const declared = (spec: Spec, kind?: Kind) => declarationOf(object(spec, kind), 'acme', surroundings);

describe('the record of an object', () => {
  it('is of the owner of namespace and name, whatever the object says, and of the cluster among several', () => {
    expect(ownerOf(object({ owner: 'k8s:other/orders' }), undefined)).toBe('k8s:shop/orders');
    expect(ownerOf(object({}), 'west')).toBe('k8s:west:shop/orders');
    expect(declared({ name: 'Orders' })).toMatchObject({ owner: 'k8s:shop/orders', tenantId: 'acme' });
  });

  it('has the client identifier of the object, or one that follows from its place', () => {
    expect(clientIdOf(object({}))).toBe('shop.orders');
    expect(declared({ clientId: 'orders-service' }).record).toEqual({ clientId: 'orders-service' });
  });

  it('trusts a service account of the namespace by its name', () => {
    expect(declared({ trusts: [{ serviceAccount: 'orders', maxAge: '10m' }] }).record).toEqual({
      clientId: 'shop.orders',
      trusts: [{ issuer: clusterIssuer, subject: 'system:serviceaccount:shop:orders', maxAge: '10m' }],
    });
  });

  it('trusts issuers that the operator names, and service accounts of its namespace by issuer and subject', () => {
    const trusts = [
      { issuer: 'https://ci.example', subject: 'repo:acme/orders' },
      { issuer: clusterIssuer, subject: 'system:serviceaccount:shop:other' },
    ];
    expect(declared({ trusts }).record).toMatchObject({ trusts });
  });

  it.each([
    [
      'a service account of another namespace',
      { issuer: clusterIssuer, subject: 'system:serviceaccount:shopping:x' },
    ],
    ['another subject of the cluster', { issuer: clusterIssuer, subject: 'system:admin' }],
    ['another issuer', { issuer: 'https://elsewhere.example', subject: 'system:serviceaccount:shop:orders' }],
    ['nobody', {}],
  ])('does not trust %s', (_what, trust) => {
    expect(() => declared({ trusts: [trust] })).toThrow(NotOfThisNamespace);
    expect(() => declared({ trusts: [trust] })).toThrow(/^spec\.trusts\[0\]\./);
  });

  it.each([
    ['secrets', 'TesseraApplication'],
    ['owners', 'TesseraApplication'],
    ['idTokenSigningAlgorithm', 'TesseraApplication'],
    ['shared', 'TesseraResource'],
    ['signingAlgorithm', 'TesseraResource'],
  ] as const)('has no %s', (field, kind) => {
    expect(() => declared({ [field]: true }, kind)).toThrow(NotOfThisNamespace);
  });

  it('lets the applications of its namespace have scopes of an API, unless it says who', () => {
    expect(declared({ audience: 'a' }, 'TesseraResource').record).toEqual({
      audience: 'a',
      assignableBy: ['k8s:shop/*'],
    });
    const assignableBy = ['tenant'];
    expect(declared({ assignableBy }, 'TesseraResource').record).toEqual({ assignableBy });
  });
});
