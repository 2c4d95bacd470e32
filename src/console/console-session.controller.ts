import { Body, Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrowserSessions } from '../identity/browser-sessions/browser-sessions.js';
import { CsrfTokens } from '../identity/browser-sessions/csrf-tokens.js';
import { Access } from '../core/access.js';
import { DomainError } from '../core/domain-error.js';
import { validateInput } from '../core/validation/validate-input.js';
import { SignInService } from '../identity/sign-in/sign-in.service.js';
import { ConsoleSignIn, type ConsoleSession } from './console-session.dto.js';
import { ConsoleSessions } from './console-sessions.js';

/** Far above an address and a password. */
const BODY_LIMIT_BYTES = 16 * 1024;

/**
 * The session of the console: who is signed in, and signing in and out as on the service's pages. For scripts of the
 * service's own origin: there are no CORS headers, and every change needs the CSRF token.
 */
@ApiExcludeController()
@Controller('console/session')
@Access('public')
export class ConsoleSessionController {
  constructor(
    private readonly console: ConsoleSessions,
    private readonly signIns: SignInService,
    private readonly sessions: BrowserSessions,
    private readonly csrf: CsrfTokens,
  ) {}

  @Get()
  show(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<ConsoleSession> {
    forbidStoring(reply);
    const csrfToken = this.csrf.tokenFor(request, reply);
    return request.headers.authorization === undefined
      ? this.console.ofBrowser(request, csrfToken)
      : this.console.ofCredential(request, csrfToken);
  }

  @Post()
  @HttpCode(200)
  @RouteConfig({ bodyLimitBytes: BODY_LIMIT_BYTES })
  async signIn(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ): Promise<ConsoleSession> {
    forbidStoring(reply);
    this.csrf.requireValid(request);
    const { email, password } = validateInput(ConsoleSignIn, body ?? {});
    const user = await this.signIns.verify(request, email.trim(), password);
    if (user === undefined) {
      throw new DomainError('credential_invalid', 'The e-mail address or the password is wrong.');
    }
    const secret = await this.signIns.complete(request, reply, user);
    return this.console.ofPerson(user, this.csrf.tokenOfSession(secret));
  }

  @Delete()
  @HttpCode(204)
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    forbidStoring(reply);
    this.csrf.requireValid(request);
    await this.sessions.end(request, reply);
  }
}

/** Refusals are not stored either, so this comes first. */
function forbidStoring(reply: FastifyReply): void {
  void reply.header('cache-control', 'no-store');
}
