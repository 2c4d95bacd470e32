/** Up to so many keys, comparing with each is quicker than making a set. */
const FEW = 8;

/** The keys of one JSON object, as they are read. */
export class ObjectKeys {
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** Returns false for a key that was there already. */
  add(key: string): boolean {
    if (this.many === undefined && this.few.length < FEW) {
      if (this.few.includes(key)) return false;
      this.few.push(key);
      return true;
    }
    this.many ??= new Set(this.few);
    if (this.many.has(key)) return false;
    this.many.add(key);
    return true;
  }
}
