import { Injectable } from '@nestjs/common';
import { changesBetween } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { newId } from '../../core/ids.js';
import { changedLimits, changedOrganizationLimits, isLifted } from '../../core/limits.js';
import { isWithin } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { endLinksOfMembers } from './links.js';
import { OrganizationEntity } from './organization.entity.js';
import type { OrganizationItem, OrganizationUpdateInput } from './organization.dto.js';
import { OrganizationLock } from './organization-lock.js';
import { type Membership, OrganizationsRepository } from './organizations.repository.js';

@Injectable()
export class OrganizationsService {
  constructor(
    private readonly repository: OrganizationsRepository,
    private readonly lock: OrganizationLock,
    private readonly events: AuditEvents,
  ) {}

  findBySlug(slug: string): Promise<OrganizationEntity | null> {
    return this.repository.findBySlug(slug);
  }

  findById(id: string): Promise<OrganizationEntity> {
    return this.repository.findById(id);
  }

  /** The organizations that the person is a member of, by name. */
  membershipsOf(userId: string): Promise<Membership[]> {
    return this.repository.findMemberships(userId);
  }

  /** Returns the organization with this slug. Creates it, without members, if it does not exist. */
  async ensure(slug: string): Promise<Pick<OrganizationEntity, 'id' | 'slug'>> {
    const existing = await this.repository.findBySlug(slug);
    if (existing !== null) return existing;
    const organization = { id: newId(), slug, name: slug };
    await this.repository.insert(organization);
    return organization;
  }

  async get(caller: Principal): Promise<OrganizationItem> {
    return toItem(await this.repository.findById(caller.organization.id));
  }

  /** @throws DomainError `permission_widening` */
  update(input: OrganizationUpdateInput, caller: Principal): Promise<OrganizationItem> {
    const { name, member_permissions: memberPermissions, run_access: runAccess } = input;
    const { limits: limitChange, retention: retentionChange, model_recording: modelRecording } = input;
    return this.lock.withAuthority(caller, async ({ authority, manager, organization }) => {
      if (memberPermissions !== undefined) {
        authority.assertHolds(organization.memberPermissions);
        authority.assertHolds(memberPermissions);
      }
      if (runAccess === 'members' && organization.runAccess !== 'members') authority.assertCanOpenAgents();
      const limits =
        limitChange === undefined ? undefined : changedOrganizationLimits(organization.limits, limitChange);
      if (limits !== undefined && isLifted(limits, organization.limits)) authority.assertCanLiftLimits();
      const changes = {
        ...(name !== undefined && { name }),
        ...(memberPermissions !== undefined && { memberPermissions }),
        ...(runAccess !== undefined && { runAccess }),
        ...(limits !== undefined && { limits }),
        ...(modelRecording !== undefined && { modelRecording }),
        ...(retentionChange !== undefined && {
          retention: changedLimits(organization.retention, retentionChange),
        }),
      };
      const { id } = organization;
      if (Object.keys(changes).length > 0) await manager.update(OrganizationEntity, { id }, changes);
      if (!isWithin(organization.memberPermissions, memberPermissions ?? organization.memberPermissions)) {
        await endLinksOfMembers(manager, id);
      }
      const updated = toItem(await manager.findOneByOrFail(OrganizationEntity, { id }));
      const differences = changesBetween(settingsOf(toItem(organization)), settingsOf(updated));
      const target = { type: 'organization', id, name: updated.name } as const;
      const event = { event: 'organization.updated', actor: caller, target, changes: differences } as const;
      if (Object.keys(differences).length > 0) await this.events.record(id, event, manager);
      return updated;
    });
  }
}

function toItem(organization: OrganizationEntity): OrganizationItem {
  return {
    id: organization.id,
    slug: organization.slug,
    name: organization.name,
    member_permissions: organization.memberPermissions,
    run_access: organization.runAccess,
    limits: organization.limits,
    retention: organization.retention,
    model_recording: organization.modelRecording,
    created_at: organization.createdAt.toISOString(),
    updated_at: organization.updatedAt.toISOString(),
  };
}

function settingsOf({ name, member_permissions, run_access, limits, retention, model_recording }: OrganizationItem) {
  return { name, member_permissions, run_access, limits, retention, model_recording };
}
