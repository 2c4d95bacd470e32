import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InvitationEntity } from './invitation.entity.js';
import { MemberEntity } from './member.entity.js';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';
import { PasswordLinkEntity } from './password-link.entity.js';
import { OrganizationsRepository } from './organizations.repository.js';
import { OrganizationsService } from './organizations.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([OrganizationEntity, MemberEntity, RoleEntity, InvitationEntity, PasswordLinkEntity]),
  ],
  providers: [OrganizationsService, OrganizationsRepository],
  exports: [OrganizationsService],
})
export class OrganizationsModule {}
