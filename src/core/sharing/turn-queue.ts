import type { Account, Holder } from './shares.js';

interface Line<T> {
  /** In the order of arrival. */
  readonly items: T[];
  /** In the order of their turns. */
  readonly members: Map<string, Line<T>>;
}

/**
 * What waits, in lines by holder. At each level of their paths, holders take turns, so that one with many items delays
 * another by one item at a time.
 */
export class TurnQueue<T extends { readonly holder: Holder }> {
  private readonly root: Line<T> = newLine();

  get isEmpty(): boolean {
    return this.root.members.size === 0;
  }

  /** True if an item of this holder waits. */
  has(holder: Holder): boolean {
    let line: Line<T> | undefined = this.root;
    for (const name of holder) line = line?.members.get(name);
    return line !== undefined;
  }

  add(item: T): void {
    let line = this.root;
    for (const name of item.holder) {
      const member = line.members.get(name) ?? newLine();
      line.members.set(name, member);
      line = member;
    }
    line.items.push(item);
  }

  /** Its holder keeps its turn. Returns false if the item does not wait. */
  delete(item: T): boolean {
    return removeFrom(this.root, item, false);
  }

  /**
   * Takes the next item out; undefined if none can be served that is the first of its line.
   * @param serve returns false if the item cannot be served now
   * @param account holders who have less of it come first, whoever's turn it is
   */
  next(serve: (item: T) => boolean = () => true, account?: Account): T | undefined {
    const item = findIn(this.root, serve, account);
    if (item !== undefined) removeFrom(this.root, item, true);
    return item;
  }
}

function newLine<T>(): Line<T> {
  return { items: [], members: new Map() };
}

function findIn<T>({ items, members }: Line<T>, serve: (item: T) => boolean, account?: Account): T | undefined {
  const [first] = items;
  if (first !== undefined) return serve(first) ? first : undefined;
  const heldBy = (name: string): number => account?.members.get(name)?.held ?? 0;
  const inTurn = account === undefined ? members : [...members].sort(([a], [b]) => heldBy(a) - heldBy(b));
  for (const [name, member] of inTurn) {
    const found = findIn(member, serve, account?.members.get(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function removeFrom<T extends { readonly holder: Holder }>(
  line: Line<T>,
  item: T,
  isServed: boolean,
  level = 0,
): boolean {
  const name = item.holder[level];
  if (name === undefined) {
    const index = line.items.indexOf(item);
    return index >= 0 && line.items.splice(index, 1).length > 0;
  }
  const member = line.members.get(name);
  if (member === undefined || !removeFrom(member, item, isServed, level + 1)) return false;
  const isEmpty = member.items.length === 0 && member.members.size === 0;
  // A member that is added again is the last.
  if (isServed || isEmpty) line.members.delete(name);
  if (!isEmpty) line.members.set(name, member);
  return true;
}
