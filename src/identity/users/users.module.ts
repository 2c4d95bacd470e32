import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IssuerIdentities } from './issuer-identities.js';
import { IssuerIdentityEntity } from './issuer-identity.entity.js';
import { PasswordChanges } from './password-changes.js';
import { PasswordHasher, UserService } from './user.service.js';
import { UserEntity } from './user.entity.js';
import { UserRepository } from './user.repository.js';

@Module({
  imports: [TypeOrmModule.forFeature([UserEntity, IssuerIdentityEntity])],
  providers: [UserService, UserRepository, PasswordHasher, PasswordChanges, IssuerIdentities],
  exports: [UserService, PasswordChanges, IssuerIdentities],
})
export class UsersModule {}
