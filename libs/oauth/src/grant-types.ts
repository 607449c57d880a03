/** A grant type with both of its names. */
export interface GrantType {
  /** Short name: the contract's `grantType` and what an application record lists. */
  readonly name:
    'authorization_code' | 'client_credentials' | 'refresh_token' | 'device_code' | 'ciba' | 'jwt_bearer';
  /** Value of `grant_type` in the RFCs (RFC 6749 §4.1.3, §4.4.2, §6; RFC 8628 §3.4; CIBA Core §10.1; RFC 7523 §2.1). */
  readonly standard: string;
  /** Whether it is announced only where an application declares it. */
  readonly declared?: true;
}

export type GrantTypeName = GrantType['name'];

/** Every grant type, in the order of the discovery documents. */
export const grantTypes: readonly GrantType[] = [
  { name: 'authorization_code', standard: 'authorization_code' },
  { name: 'client_credentials', standard: 'client_credentials' },
  { name: 'refresh_token', standard: 'refresh_token' },
  { name: 'device_code', standard: 'urn:ietf:params:oauth:grant-type:device_code' },
  { name: 'ciba', standard: 'urn:openid:params:grant-type:ciba' },
  { name: 'jwt_bearer', standard: 'urn:ietf:params:oauth:grant-type:jwt-bearer', declared: true },
];

const byContractName = new Map<string, GrantType>(grantTypes.map((entry) => [entry.name, entry]));
const byStandardName = new Map<string, GrantType>(grantTypes.map((entry) => [entry.standard, entry]));

/** Finds a grant type by its short name, case-sensitively; undefined if there is none. */
export function grantTypeByContractName(name: string): GrantType | undefined {
  return byContractName.get(name);
}

/** Finds a grant type by the RFCs' name or URN, case-sensitively; undefined if there is none. */
export function grantTypeByStandardName(name: string): GrantType | undefined {
  return byStandardName.get(name);
}
