/**
 * Divides places among holders. One more is given only to a holder that has fewer than are free: alone it gets half of them,
 * two that want all get a third each, and so on. So something is left for whoever comes next, and nobody has to be asked to
 * give anything back.
 */
export class FairShare {
  private readonly held = new Map<string, number>();
  private taken = 0;

  constructor(private readonly capacity: number) {}

  get isUnused(): boolean {
    return this.taken === 0;
  }

  isOpenTo(holder: string): boolean {
    return (this.held.get(holder) ?? 0) < this.capacity - this.taken;
  }

  /** To be called only while it is open to the holder. */
  take(holder: string): void {
    this.held.set(holder, (this.held.get(holder) ?? 0) + 1);
    this.taken++;
  }

  giveBack(holder: string): void {
    const left = (this.held.get(holder) ?? 0) - 1;
    if (left > 0) this.held.set(holder, left);
    else this.held.delete(holder);
    this.taken--;
  }
}
