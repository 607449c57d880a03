/** The objects that this process follows. */
export const group = 'tessera.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}`;

export const plurals = {
  TesseraApplication: 'tesseraapplications',
  TesseraResource: 'tesseraresources',
} as const;

export type Kind = keyof typeof plurals;

export const kinds = Object.keys(plurals) as readonly Kind[];

/** Holds an object back until its record is gone. */
export const finalizer = `${group}/record`;

/** With the value `true` it confirms a deletion that is held. */
export const confirmation = `${group}/confirm-deletion`;

/**
 * What no object says, though the declared state does: secrets, whose records an application writes, and what reaches
 * other tenants, which the controller may write, too.
 */
export const fieldsOfNoObject: Readonly<Record<Kind, readonly string[]>> = {
  TesseraApplication: ['secrets', 'owners', 'idTokenSigningAlgorithm'],
  TesseraResource: ['shared', 'signingAlgorithm'],
};

/** Where an object is. */
export interface Key {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

export interface Condition {
  readonly type: 'Accepted' | 'Ready';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** What the last change ended. */
export interface ShownImpact {
  readonly people: number;
  readonly sessions: number;
  readonly refreshTokens: number;
  readonly approvals: number;
  readonly consents: number;
}

export interface Status {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
  /** Where its record is: set before the first write. */
  readonly tenantId?: string;
  readonly clientId?: string;
  readonly audience?: string;
  readonly issuer?: string;
  readonly lastChange?: ShownImpact & { readonly at: string };
}

/** A trust as an object may say it: of a service account of its own namespace, or as the declared state does. */
export interface Trust {
  readonly serviceAccount?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly [field: string]: unknown;
}

/** What is declared. Its fields are those of the declared state, whose rules the administration API has. */
export interface Spec {
  readonly clientId?: string;
  readonly audience?: string;
  readonly trusts?: readonly Trust[];
  readonly assignableBy?: readonly string[];
  readonly [field: string]: unknown;
}

export interface TesseraObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Spec;
  readonly status?: Status;
}

export const keyOf = ({ kind, metadata: { namespace, name } }: TesseraObject): Key => ({
  kind,
  namespace,
  name,
});
