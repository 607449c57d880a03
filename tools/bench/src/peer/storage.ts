interface Stored {
  readonly grantId?: string;
  readonly uid?: string;
  readonly userCode?: string;
  consumed?: number;
}

const records = new Map<string, Stored>();
const byUid = new Map<string, string>();
const byUserCode = new Map<string, string>();

/** The cheapest possible store: a map that keeps everything (the peer's own holds a thousand records). */
export class MapAdapter {
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  async upsert(id: string, payload: Stored): Promise<void> {
    records.set(this.#key(id), payload);
    if (payload.uid !== undefined) byUid.set(payload.uid, id);
    if (payload.userCode !== undefined) byUserCode.set(payload.userCode, id);
  }

  async find(id: string): Promise<Stored | undefined> {
    return records.get(this.#key(id));
  }

  async findByUid(uid: string): Promise<Stored | undefined> {
    return records.get(this.#key(byUid.get(uid) ?? ''));
  }

  async findByUserCode(userCode: string): Promise<Stored | undefined> {
    return records.get(this.#key(byUserCode.get(userCode) ?? ''));
  }

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

  #key(id: string): string {
    return `${this.#model}:${id}`;
  }
}
