/** A person of a tenant. */
export interface PersonId {
  readonly tenantId: string;
  readonly userId: string;
}
