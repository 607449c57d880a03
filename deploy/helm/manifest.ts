/** What Helm makes, as far as tests look at it. */

export interface EnvironmentEntry {
  readonly name: string;
  readonly value?: string;
}

export interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentEntry[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

interface SecretItems {
  readonly name: string;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string };
  readonly emptyDir?: object;
  readonly projected?: {
    readonly sources: readonly { readonly secret?: SecretItems; readonly configMap?: SecretItems }[];
  };
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly object[];
  readonly affinity?: object;
  readonly priorityClassName?: string;
}

export interface Pod {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpec;
}

interface Peer {
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
}

interface PolicyRule {
  readonly ports?: readonly { readonly port: string | number }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

/** What tests look at of any kind; which of it is there depends on the kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly replicas?: number;
    readonly minReplicas?: number;
    readonly maxReplicas?: number;
    readonly hostnames?: readonly string[];
    readonly tls?: readonly { readonly hosts: readonly string[]; readonly secretName: string }[];
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly {
      readonly name: string;
      readonly port: number;
      readonly targetPort: string;
      readonly appProtocol?: string;
    }[];
    readonly template?: Pod;
    readonly dnsNames?: readonly string[];
    readonly issuerRef?: { readonly name: string };
    readonly secretName?: string;
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly ingress?: readonly PolicyRule[];
    readonly egress?: readonly PolicyRule[];
    readonly rules?: readonly RouteRule[];
    readonly podFailurePolicy?: { readonly rules: readonly object[] };
  } & Partial<PodSpec>;
}

interface RouteRule {
  readonly host?: string;
  readonly http?: { readonly paths: readonly { readonly path: string; readonly pathType: string }[] };
  readonly matches?: readonly { readonly path?: { readonly type: string; readonly value: string } }[];
}
