import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { UsersModule } from '../users/users.module.js';
import { BrowserSessionEntity } from './browser-session.entity.js';
import { BrowserSessionRepository } from './browser-session.repository.js';
import { BrowserSessions } from './browser-sessions.js';
import { CookieNames } from './cookie-names.js';
import { CsrfTokens } from './csrf-tokens.js';

@Module({
  imports: [TypeOrmModule.forFeature([BrowserSessionEntity]), UsersModule],
  providers: [BrowserSessions, BrowserSessionRepository, CsrfTokens, CookieNames],
  exports: [BrowserSessions, BrowserSessionRepository, CsrfTokens, CookieNames],
})
export class BrowserSessionsModule {}
