/** What may follow a first letter in so much time counts as one shortcut. */
const PAUSE_MS = 1_500;

/** A key, or several one after another, as `KeyboardEvent.key` has them. */
export type Keys = readonly [string, ...string[]];

/** Keys that are pressed one after another, and the shortcut that they are. */
export class KeySequence {
  private pressed: readonly string[] = [];
  private at = 0;

  /** Returns the shortcut that the key completes. @param at milliseconds of any clock */
  press<Shortcut extends { readonly keys: Keys }>(
    key: string,
    at: number,
    shortcuts: readonly Shortcut[],
  ): Shortcut | undefined {
    const before = at - this.at > PAUSE_MS ? [] : this.pressed;
    this.at = at;
    for (const pressed of [[...before, key], [key]]) {
      const begun = shortcuts.filter(({ keys }) => pressed.every((one, index) => keys[index] === one));
      const found = begun.find(({ keys }) => keys.length === pressed.length);
      if (begun.length === 0) continue;
      this.pressed = found === undefined ? pressed : [];
      return found;
    }
    this.pressed = [];
    return undefined;
  }
}
