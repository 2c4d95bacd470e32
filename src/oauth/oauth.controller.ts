import { All, Controller } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import { Access } from '../common/access.js';
import { OAUTH_PATHS } from './provider-configuration.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The authorization server answers the route itself (`OauthRoutes`). */
    isOauth?: boolean;
  }
}

/** Declares the routes of the authorization server, whose answers do not pass through Nest: it reads and writes the sockets. */
@ApiExcludeController()
@Controller()
@Access('public')
export class OauthController {
  @All([
    OAUTH_PATHS.authorize,
    `${OAUTH_PATHS.authorize}/:uid`,
    OAUTH_PATHS.token,
    OAUTH_PATHS.register,
    OAUTH_PATHS.revoke,
    OAUTH_PATHS.jwks,
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
  ])
  @RouteConfig({ isOauth: true })
  answer(): never {
    throw new Error('OauthRoutes answers these requests.');
  }
}
