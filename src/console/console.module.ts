import { Module } from '@nestjs/common';
import { AuthModule } from '../identity/auth/auth.module.js';
import { BrowserSessionsModule } from '../identity/browser-sessions/browser-sessions.module.js';
import { OpenIdModule } from '../identity/openid/openid.module.js';
import { OrganizationsModule } from '../identity/organizations/organizations.module.js';
import { SignInModule } from '../identity/sign-in/sign-in.module.js';
import { UsersModule } from '../identity/users/users.module.js';
import { BrowserSessionVerifier } from './browser-session.verifier.js';
import { ConsoleSessionController } from './console-session.controller.js';
import { ConsoleSessions } from './console-sessions.js';
import { SessionMembersRepository } from './session-members.repository.js';

/** What the web console needs in addition to the API: its session, and the API's acceptance of signed-in browsers. */
@Module({
  imports: [AuthModule, BrowserSessionsModule, OpenIdModule, OrganizationsModule, SignInModule, UsersModule],
  controllers: [ConsoleSessionController],
  providers: [ConsoleSessions, BrowserSessionVerifier, SessionMembersRepository],
})
export class ConsoleModule {}
