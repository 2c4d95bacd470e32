import { Controller, Get, Options, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import { Access } from '../../core/access.js';
import { OAUTH_PATHS } from './provider-configuration.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The authorization server answers the route itself (`OauthRoutes`). */
    isOauth?: boolean;
  }
}

const METADATA = ['.well-known/oauth-authorization-server', '.well-known/openid-configuration'];
const CALLED_BY_CLIENTS = [OAUTH_PATHS.token, OAUTH_PATHS.register, OAUTH_PATHS.revoke];

/**
 * Declares the routes of the authorization server, whose answers do not pass through Nest: it reads and writes the
 * sockets.
 */
@ApiExcludeController()
@Controller()
@Access('public')
export class OauthController {
  @Get([OAUTH_PATHS.authorize, `${OAUTH_PATHS.authorize}/:uid`, OAUTH_PATHS.jwks, ...METADATA])
  @RouteConfig({ isOauth: true })
  get(): never {
    throw notHere();
  }

  @Post(CALLED_BY_CLIENTS)
  @RouteConfig({ isOauth: true })
  post(): never {
    throw notHere();
  }

  /** Preflights of clients that run in web pages. */
  @Options([OAUTH_PATHS.jwks, ...CALLED_BY_CLIENTS, ...METADATA])
  @RouteConfig({ isOauth: true })
  preflight(): never {
    throw notHere();
  }
}

function notHere(): Error {
  return new Error('OauthRoutes answers these requests.');
}
