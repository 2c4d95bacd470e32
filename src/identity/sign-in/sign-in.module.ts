import { Module } from '@nestjs/common';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { BrowserSessionsModule } from '../browser-sessions/browser-sessions.module.js';
import { PreparedStatementsModule } from '../../platform/database/prepared-statements.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { OpenIdModule } from '../openid/openid.module.js';
import { PagesModule } from '../../platform/pages/pages.module.js';
import { UsersModule } from '../users/users.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { FailedSignIns, KnownAccounts, SignInService } from './sign-in.service.js';
import { IssuerAccounts } from './issuer-accounts.js';
import { IssuerSignInController } from './issuer-sign-in.controller.js';
import { InvitationController } from './invitation.controller.js';
import { PasswordController } from './password.controller.js';
import { ResetController } from './reset.controller.js';
import { SetupController } from './setup.controller.js';
import { SignInController } from './sign-in.controller.js';

/** Pages and routes with which people sign in. */
@Module({
  imports: [
    AuditEventsModule,
    UsersModule,
    OrganizationsModule,
    BrowserSessionsModule,
    OpenIdModule,
    PagesModule,
    PreparedStatementsModule,
    VaultModule,
  ],
  controllers: [
    SignInController,
    SetupController,
    InvitationController,
    ResetController,
    PasswordController,
    IssuerSignInController,
  ],
  providers: [SignInService, FailedSignIns, KnownAccounts, IssuerAccounts],
  exports: [SignInService],
})
export class SignInModule {}
