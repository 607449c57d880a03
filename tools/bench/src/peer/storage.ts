interface Stored {
  readonly grantId?: string;
  readonly uid?: string;
  readonly userCode?: string;
  consumed?: number;
}

const records = new Map<string, Stored>();

/** The cheapest possible store: a map that keeps everything (the peer's own holds a thousand records). */
export class MapAdapter {
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  async upsert(id: string, payload: Stored): Promise<void> {
    records.set(this.#key(id), payload);
    for (const name of [payload.uid, payload.userCode])
      if (name !== undefined) records.set(this.#key(name), payload);
  }

  async find(name: string): Promise<Stored | undefined> {
    return records.get(this.#key(name));
  }

  findByUid = this.find;
  findByUserCode = this.find;

  async consume(id: string): Promise<void> {
    const record = records.get(this.#key(id));
    if (record !== undefined) record.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    records.delete(this.#key(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, record] of records) if (record.grantId === grantId) records.delete(key);
  }

  #key(name: string): string {
    return `${this.#model}:${name}`;
  }
}
