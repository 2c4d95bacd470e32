import type { PassedOver, Tenant } from '../runs/records/run-turns.js';

/** A process with fewer slots reserves none: tenants would notice the difference. */
const RESERVE_FROM = 4;
const RESERVED_PART = 20;

/**
 * Tracks the occupied slots of a process and keeps some free for newcomers. An organization cannot take the last
 * twentieth (at least one slot), and within an organization an API key, or a user without one, leaves as many again to
 * the others.
 */
export class SlotShares {
  private readonly organizations = new Map<string, number>();
  private readonly holders = new Map<string, number>();
  private readonly organizationLimit: number;
  private readonly holderLimit: number;
  private taken = 0;

  constructor(private readonly capacity: number) {
    const reserve = capacity < RESERVE_FROM ? 0 : Math.ceil(capacity / RESERVED_PART);
    this.organizationLimit = capacity - reserve;
    this.holderLimit = capacity - 2 * reserve;
  }

  get isFull(): boolean {
    return this.taken >= this.capacity;
  }

  add({ organizationId, holderId }: Tenant): void {
    this.taken += 1;
    count(this.organizations, organizationId, 1);
    count(this.holders, holderId, 1);
  }

  remove({ organizationId, holderId }: Tenant): void {
    this.taken -= 1;
    count(this.organizations, organizationId, -1);
    count(this.holders, holderId, -1);
  }

  /**
   * Returns the tenants that cannot take another slot.
   * @param claims the number of claims in progress, each of which can be for a run of any tenant
   */
  exhausted(claims = 0): PassedOver {
    if (this.organizationLimit === this.capacity) return { organizations: [], holders: [] };
    return {
      organizations: keysAt(this.organizations, this.organizationLimit - claims),
      holders: keysAt(this.holders, this.holderLimit - claims),
    };
  }

  /** True if another tenant might wait because of this one. */
  isShort({ organizationId }: Tenant): boolean {
    return this.isFull || (this.organizations.get(organizationId) ?? 0) >= this.organizationLimit;
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const sum = (counts.get(key) ?? 0) + by;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

function keysAt(counts: ReadonlyMap<string, number>, limit: number): string[] {
  return [...counts].filter(([, runs]) => runs >= limit).map(([key]) => key);
}
