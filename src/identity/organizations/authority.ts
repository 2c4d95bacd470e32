import { DomainError } from '../../core/domain-error.js';
import { ANY, isWithin, type PermissionMap, SELF } from '../../core/permissions.js';
import { EVERYTHING, type MemberRights, OWNER, permissionsOfMember } from './member-rights.js';

/** Who changes members, roles and the organization, with the rights of this moment. */
interface Actor {
  /** Null for a key of the organization. */
  readonly userId: string | null;
  /** The role of the person. */
  readonly role: string | null;
  readonly permissions: PermissionMap;
}

/** What a caller can give to others, or take from them. Pure. */
export class Authority {
  constructor(private readonly actor: Actor) {}

  /** @throws DomainError `permission_widening` */
  assertHolds(permissions: PermissionMap): void {
    if (isWithin(permissions, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot grant permissions that it does not hold.');
  }

  /**
   * Rejects giving a role, or changing somebody who has it, unless the caller holds everything in it. Only owners, and
   * keys of the organization with all permissions, decide about owners.
   * @throws DomainError `permission_widening`
   */
  assertManages(rights: MemberRights): void {
    if (rights.role === OWNER && !this.isOwner()) {
      throw new DomainError('permission_widening', 'Only an owner can invite, change or remove owners.');
    }
    if (isWithin(permissionsOfMember(rights), this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The role holds permissions that the caller does not hold.');
  }

  /** Rejects opening the agents to every credential. @throws DomainError `permission_widening` */
  assertCanOpenAgents(): void {
    if (isWithin({ [ANY]: [ANY] }, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot grant access to agents that it does not hold.');
  }

  /**
   * Rejects lifting a limit of the organization, which is the caller's own, unless the caller holds all management
   * tools.
   * @throws DomainError `permission_widening`
   */
  assertCanLiftLimits(): void {
    if (isWithin({ [SELF]: [ANY] }, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot lift a limit that applies to it.');
  }

  isSelf(userId: string | null): boolean {
    return userId !== null && userId === this.actor.userId;
  }

  private isOwner(): boolean {
    const { userId, role, permissions } = this.actor;
    return (userId === null || role === OWNER) && isWithin(EVERYTHING, permissions);
  }
}
