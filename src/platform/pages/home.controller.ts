import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { version } from '../../core/version.js';
import { AppConfig } from '../../core/config/app-config.js';
import { html } from './html.js';
import { sendPage } from './send-page.js';

/** The path of the web console. */
export const CONSOLE_PATH = '/console';

/** Where to go from here, as paths. */
const PLACES = {
  reference: '/docs',
  openapi: '/openapi.json',
  sign_in: '/sign-in',
  health: '/health/ready',
} as const;

/** The root of the service: a page for people with a browser, JSON for everyone else. */
@ApiExcludeController()
@Controller()
@Access('public')
export class HomeController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  show(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.header('vary', 'accept');
    const { servesConsole } = this.config;
    if (!prefersPage(headers.accept)) {
      const places = { ...(servesConsole && { console: CONSOLE_PATH }), ...PLACES };
      return void reply.send({ name: 'signalbox', version, ...places });
    }
    sendPage(reply, {
      title: 'Where to go',
      body: html`<p>This service runs AI agents over HTTP, and connects MCP clients with MCP servers.</p>
        <ul>
          ${servesConsole && html`<li><a href="${CONSOLE_PATH}">The console</a> shows what is connected and what runs.</li>`}
          <li><a href="${PLACES.reference}">The reference</a> shows every operation, the first ones first.</li>
          <li><a href="${PLACES.openapi}">The OpenAPI document</a> is for generators of clients.</li>
          <li><a href="${PLACES.sign_in}">Sign in</a> if you have an account.</li>
          <li><a href="${PLACES.health}">The health</a> of the service.</li>
        </ul>
        <p class="note">Programs use API keys: <code>Authorization: Bearer sbx_…</code>. Version ${version}.</p>`,
    });
  }
}

/** True if the caller names HTML, and not JSON before it. Browsers do; a client that accepts anything gets JSON. */
function prefersPage(accept = ''): boolean {
  const types = accept.split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase());
  const [page, data] = [types.indexOf('text/html'), types.indexOf('application/json')];
  return page !== -1 && (data === -1 || page < data);
}
