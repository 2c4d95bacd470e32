import { Controller, Get, HttpStatus, Param, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../common/access.js';
import { DomainError } from '../../common/domain-error.js';
import { toDomainError } from '../../common/to-domain-error.js';
import { BrowserSessions } from './browser-sessions.js';
import { UpstreamAuthorizations } from './upstream-authorizations.js';
import { UpstreamClients } from './upstream-clients.js';

/** The pages on which a person authorizes the account of a connection. They need a signed-in browser. */
@ApiExcludeController()
@Controller()
@Access('public')
export class AuthorizationController {
  constructor(
    private readonly sessions: BrowserSessions,
    private readonly authorizations: UpstreamAuthorizations,
    private readonly clients: UpstreamClients,
  ) {}

  @Get('connections/:id/authorize')
  async authorize(@Param('id') id: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.inBrowser(request, reply, async (browser) => {
      await reply.redirect(await this.authorizations.begin(id, browser), HttpStatus.SEE_OTHER);
    });
  }

  @Get('oauth/callback')
  async callback(
    @Query() query: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { state, code, iss, error } = query;
    const answer = { state: textOf(state), code: textOf(code), iss: textOf(iss), error: textOf(error) };
    await this.inBrowser(request, reply, async (browser) => {
      const title = await this.authorizations.complete(answer, browser);
      await sendPage(reply, 200, 'Connected', `“${title}” is connected. You can close this window.`);
    });
  }

  /** The client metadata document of this service. */
  @Get('oauth/client-metadata.json')
  metadata(): object {
    const document = this.clients.metadataDocument;
    if (document === undefined) throw new DomainError('unknown_route');
    return document;
  }

  private async inBrowser(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (browser: { userId: string; sessionId: string }) => Promise<void>,
  ): Promise<void> {
    void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
    try {
      const browser = await this.sessions.signedIn(request);
      if (browser === undefined) await reply.redirect(this.sessions.signInUrl(request.url), HttpStatus.SEE_OTHER);
      else await work(browser);
    } catch (cause) {
      const error = toDomainError(cause);
      await sendPage(reply, error.status, 'Not connected', error.detail ?? `${error.title}.`);
    }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function sendPage(reply: FastifyReply, status: number, title: string, text: string): Promise<void> {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${escaped(text)}</p></html>`;
  await reply.status(status).type('text/html; charset=utf-8').send(html);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
