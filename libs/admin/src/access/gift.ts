/** Something that a record gives to whom it is about, to who controls it, or to others. */
export interface Gift {
  /** Of the record. */
  readonly field: string;
  readonly what: string;
  /** Who gets it, or all that decides what it is: with another one it is another gift. */
  readonly from?: string;
  /** Who gives it must hold all of these scopes; */
  readonly scopes: readonly string[];
  /** and reach every tenant. */
  readonly everyTenant?: boolean;
  /** or have a tenant with an issuer of its own; */
  readonly atSharedIssuer?: boolean;
  /** and write records of this owner; `*`: of everybody. */
  readonly owner?: string;
  /** A role, or a scope of an API or the introspection of its tokens: its owner gives it, or whom the API says. */
  readonly assigns?: 'role' | 'scope' | 'audience';
  /** It needs nothing where no record has it. */
  readonly own?: boolean;
  /** A power over the administration: who has it is changed only by those who hold it. */
  readonly administers?: boolean;
  /** Only a record that was there gives it: a new one has nobody to give it to. */
  readonly again?: boolean;
  /**
   * What it says of a person under `what`. It counts only where an application of the tenant is told of it as a claim,
   * and taking it away counts as giving it.
   */
  readonly attribute?: unknown;
}
