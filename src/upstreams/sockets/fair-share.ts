/**
 * Divides places among holders. A holder gets another place only if it has fewer places than are free. A single holder
 * gets at most half of them, two holders a third each, and so on, so places remain for the next holder without taking
 * any back.
 */
export class FairShare {
  private readonly countByHolder = new Map<string, number>();
  private taken = 0;

  constructor(private readonly capacity: number) {}

  get isUnused(): boolean {
    return this.taken === 0;
  }

  isOpenTo(holder: string): boolean {
    return (this.countByHolder.get(holder) ?? 0) < this.capacity - this.taken;
  }

  /** Call only if `isOpenTo` is true for the holder. */
  take(holder: string): void {
    this.countByHolder.set(holder, (this.countByHolder.get(holder) ?? 0) + 1);
    this.taken++;
  }

  giveBack(holder: string): void {
    const left = (this.countByHolder.get(holder) ?? 0) - 1;
    if (left > 0) this.countByHolder.set(holder, left);
    else this.countByHolder.delete(holder);
    this.taken--;
  }
}
