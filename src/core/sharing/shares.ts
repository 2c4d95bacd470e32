/** Whose share is meant: a path, such as an organization and a caller in it. */
export type Holder = readonly string[];

/** The most that one member of a level can have of what its other members leave. */
export type Limit = (left: number) => number;

/** Keeps as much for the next member, however many there are. */
export const half: Limit = (left) => Math.ceil(left / 2);

export function atMost(units: number): Limit {
  return () => units;
}

/** What a task, an answer or a request needs. */
export interface Claim {
  readonly holder: Holder;
  /** By default 1. */
  readonly units?: number;
  /** What it needs of other shares as well. */
  readonly also?: Claim & { readonly of: Shares };
}

/** What a holder has; its members have it among them. */
export interface Account {
  held: number;
  readonly members: Map<string, Account>;
}

/** Divides units among holders, and at each level of their paths among the members. */
export class Shares {
  protected readonly root = newAccount();

  /** @param limits of each level; the members of a level without a limit share what there is */
  constructor(
    private readonly capacity: number,
    private readonly limits: readonly Limit[] = [],
  ) {}

  /** The units that are held in all. */
  get held(): number {
    return this.root.held;
  }

  /** How many units the holder can take now; below zero if limits have become lower than what it has. */
  roomOf(holder: Holder): number {
    let account: Account | undefined = this.root;
    let left = this.capacity;
    for (const [level, name] of holder.entries()) {
      const member: Account | undefined = account?.members.get(name);
      left -= (account?.held ?? 0) - (member?.held ?? 0);
      left = Math.min(left, this.limits[level]?.(left) ?? left);
      account = member;
    }
    return left - (account?.held ?? 0);
  }

  isOpenTo({ holder, units = 1, also }: Claim): boolean {
    return this.roomOf(holder) >= units && (also?.of.isOpenTo(also) ?? true);
  }

  /** Returns false if the holder's share does not have the units. */
  tryTake(claim: Claim): boolean {
    const isOpen = this.isOpenTo(claim);
    if (isOpen) this.add(claim, 1);
    return isOpen;
  }

  giveBack(claim: Claim): void {
    this.add(claim, -1);
  }

  private add({ holder, units = 1, also }: Claim, sign: 1 | -1): void {
    let account: Account = this.root;
    account.held += sign * units;
    for (const name of holder) {
      const member = account.members.get(name) ?? newAccount();
      member.held += sign * units;
      if (member.held === 0) account.members.delete(name);
      else account.members.set(name, member);
      account = member;
    }
    also?.of.add(also, sign);
  }
}

function newAccount(): Account {
  return { held: 0, members: new Map() };
}
