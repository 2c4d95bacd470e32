import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { MailModule } from '../../platform/mail/mail.module.js';
import { UsersModule } from '../users/users.module.js';
import { InvitationEntity } from './invitation.entity.js';
import { Joining } from './joining.js';
import { MemberEntity } from './member.entity.js';
import { MemberRepository } from './member.repository.js';
import { MemberService } from './member.service.js';
import { MemberTools } from './member.tools.js';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';
import { OrganizationLock } from './organization-lock.js';
import { OrganizationPersonEntity } from './organization-person.entity.js';
import { OrganizationTools } from './organization.tools.js';
import { OrganizationsRepository } from './organizations.repository.js';
import { OrganizationsService } from './organizations.service.js';
import { MembershipSource } from './membership.source.js';
import { Ownership } from './ownership.js';
import { PasswordLinkEntity } from './password-link.entity.js';
import { PasswordResets } from './password-resets.js';
import { RoleService } from './role.service.js';
import { RoleTools } from './role.tools.js';

const ENTITIES = [
  OrganizationEntity,
  MemberEntity,
  RoleEntity,
  InvitationEntity,
  PasswordLinkEntity,
  OrganizationPersonEntity,
];

/** Organizations, their members, roles and invitations. */
@Module({
  imports: [
    TypeOrmModule.forFeature(ENTITIES),
    UsersModule,
    CredentialsModule,
    LimitsModule,
    MailModule,
    AuditEventsModule,
  ],
  providers: [
    OrganizationsService,
    OrganizationsRepository,
    OrganizationLock,
    OrganizationTools,
    MemberService,
    MemberRepository,
    MemberTools,
    MembershipSource,
    RoleService,
    RoleTools,
    Joining,
    Ownership,
    PasswordResets,
  ],
  exports: [OrganizationsService, MemberService, MembershipSource, Joining, Ownership, PasswordResets],
})
export class OrganizationsModule {}
