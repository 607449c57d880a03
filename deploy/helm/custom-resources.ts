/**
 * The definitions of `TesseraApplication` and `TesseraResource`, from the JSON Schema of the declared state: a field of
 * a record is a field of its object, described alike. `npm run generate:chart` writes them.
 */
import { stringify } from 'yaml';
import { declaredStateSchema } from '@tessera/directory/json-schema';
import { fieldsOfNoObject, group, plurals, version, type Kind } from '../../apps/controller/src/objects.ts';
import { describeParts } from './described-parts.ts';
import { structural, type Schema } from './structural-schema.ts';

/** A public key (RFC 7517): its members one by one, since one of a private key would be a secret. */
const publicKey: Schema = {
  type: 'object',
  properties: Object.fromEntries(
    ['kty', 'kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e'].map((name) => [name, { type: 'string' }]),
  ),
  required: ['kty'],
};

/** The records of a list of the declared state, without what no object says. */
function listed(list: 'applications' | 'resources', kind: Kind): Schema {
  const file = declaredStateSchema() as Schema;
  const record = file.properties?.['tenants']?.items?.properties?.[list]?.items;
  if (record === undefined) throw new Error(`The declared state has no ${list}.`);
  const { properties = {}, ...schema } = structural(record);
  const fields = Object.entries(properties).filter(([name]) => !fieldsOfNoObject[kind].includes(name));
  return { ...schema, properties: Object.fromEntries(fields) };
}

interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

const unchanged = (field: string): Rule => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} stays as it is: delete the object, and create another`,
});

function applicationSpec(): Schema {
  const { properties: fields = {}, required = [], ...schema } = listed('applications', 'TesseraApplication');
  fields['clientId'] = {
    ...fields['clientId'],
    description: `${fields['clientId']?.description}; default: \`<namespace>.<name>\``,
  };
  fields['publicKeys'] = { ...fields['publicKeys'], items: publicKey };
  fields['trusts'] = trusts(fields['trusts'] ?? {});
  return {
    ...schema,
    description: 'The application: the fields that it has in the declared state, without secrets.',
    properties: fields,
    required: required.filter((name) => name !== 'clientId'),
    'x-kubernetes-validations': [
      unchanged('clientId'),
      {
        rule: "self.type != 'confidential' || has(self.trusts) || has(self.publicKeys) || has(self.jwksUri)",
        message: 'a confidential application proves who it is by trusts, publicKeys or jwksUri',
      },
      {
        rule: "self.type == 'confidential' || !self.grantTypes.exists(grant, grant == 'client_credentials')",
        message: 'client_credentials is for confidential applications',
      },
    ] satisfies Rule[],
  };
}

function trusts(list: Schema): Schema {
  const { properties = {}, ...trust } = list.items ?? {};
  const { required: _, ...others } = trust;
  const serviceAccount = {
    type: 'string',
    maxLength: 253,
    minLength: 1,
    description: 'a service account of the namespace of the object, in place of `issuer` and `subject`',
  };
  return {
    ...list,
    description: `${list.description}. Here also \`{serviceAccount}\`, of the namespace of the object`,
    items: {
      ...others,
      properties: { serviceAccount, ...properties },
      'x-kubernetes-validations': [
        {
          rule: 'has(self.serviceAccount) ? !has(self.issuer) && !has(self.subject) : has(self.issuer) && has(self.subject)',
          message: 'a trust has a serviceAccount, or issuer and subject',
        },
        {
          rule: "!has(self.serviceAccount) || self.serviceAccount != 'default' || (has(self.sharedIdentity) && self.sharedIdentity)",
          message:
            'the service account default is that of every pod that names none: trust in it needs sharedIdentity: true',
        },
      ] satisfies Rule[],
    },
  };
}

function resourceSpec(): Schema {
  const schema = listed('resources', 'TesseraResource');
  const { assignableBy } = schema.properties ?? {};
  return {
    ...schema,
    description: 'The API: the fields that it has in the declared state.',
    properties: {
      ...schema.properties,
      assignableBy: {
        ...assignableBy,
        description: `${assignableBy?.description}. Here the default is the applications of its own namespace`,
      },
    },
    'x-kubernetes-validations': [unchanged('audience')],
  };
}

const count = (description: string): Schema => ({ type: 'integer', format: 'int64', description });
const time: Schema = { type: 'string', format: 'date-time' };

const condition: Schema = {
  type: 'object',
  properties: {
    type: {
      type: 'string',
      description: '`Accepted`: it may be declared here. `Ready`: the record is as declared.',
    },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: { type: 'string' },
    message: { type: 'string', description: 'what is wrong, in the words of the administration API' },
    observedGeneration: { type: 'integer', format: 'int64' },
    lastTransitionTime: { ...time },
  },
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
};

const status: Schema = {
  type: 'object',
  description: 'What became of it.',
  properties: {
    conditions: {
      type: 'array',
      items: condition,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      description: 'the generation that this is about',
    },
    tenantId: { type: 'string', description: 'where the record is' },
    clientId: { type: 'string', description: 'of the application' },
    audience: { type: 'string', description: 'of the API' },
    issuer: { type: 'string', description: 'where its tokens come from' },
    lastChange: {
      type: 'object',
      description: 'what the last change of the record ended',
      properties: {
        at: { ...time },
        people: count('people whom it concerned'),
        sessions: count('sessions'),
        refreshTokens: count('refresh tokens'),
        approvals: count('requests that waited for an approval'),
        consents: count('consents'),
      },
    },
  },
};

const specs: Readonly<Record<Kind, () => Schema>> = {
  TesseraApplication: applicationSpec,
  TesseraResource: resourceSpec,
};

const column = (name: string, jsonPath: string, more: object = {}) => ({
  name,
  type: 'string',
  jsonPath,
  ...more,
});
const readyOf = (field: string) => `.status.conditions[?(@.type=="Ready")].${field}`;

function definition(kind: Kind): object {
  const isApplication = kind === 'TesseraApplication';
  const spec = specs[kind]();
  describeParts({ properties: { spec, status } });
  const identifier = isApplication
    ? column('Client', '.status.clientId')
    : column('Audience', '.spec.audience');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plurals[kind]}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: plurals[kind],
        singular: kind.toLowerCase(),
        categories: ['tessera'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            identifier,
            column('Tenant', '.status.tenantId'),
            column('Ready', readyOf('status')),
            column('Reason', readyOf('reason')),
            column('Message', readyOf('message'), { priority: 1 }),
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: isApplication
                ? 'An application of the tenant of this namespace, kept as it is declared.'
                : 'An API of the tenant of this namespace, kept as it is declared.',
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status,
              },
              required: ['spec'],
              'x-kubernetes-validations': [
                { rule: 'self.metadata.name.size() <= 60', message: 'the name has at most 60 characters' },
              ] satisfies Rule[],
            },
          },
        },
      ],
    },
  };
}

/** Both definitions, as a list in YAML. */
export function customResources(): string {
  const kinds = Object.keys(specs) as Kind[];
  return `# Written by npm run generate:chart from the fields of the declared state.\n${stringify(
    kinds.map(definition),
    {
      lineWidth: 0,
      aliasDuplicateObjects: false,
    },
  )}`;
}
