import { applyDecorators, Get, Post, HttpCode } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import type { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { ErrorResponder } from '../../core/error-responder.js';
import { html } from './html.js';
import { sendPage } from './send-page.js';

/** Headings for people, where the title of the code is written for programs. */
const HEADINGS: Partial<Record<ErrorCode, string>> = {
  permission_denied: 'You do not have access',
  invalid_request: 'This did not work',
  internal: 'Something went wrong',
};

/** Responds to errors of page routes with a page. */
class ErrorPages extends ErrorResponder {
  protected sendError(error: DomainError, request: FastifyRequest, reply: FastifyReply): void {
    void reply.headers(error.headers);
    sendPage(reply, {
      title: HEADINGS[error.code] ?? error.title,
      status: error.status,
      body: html`<p>${error.detail ?? 'Please try again later.'}</p>
        <p class="note">Request ${request.id}</p>`,
    });
  }
}

const errorPages = new ErrorPages();

const CONFIG = {
  acceptsForms: true,
  answerError: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) =>
    errorPages.respondWithError(thrown, request, reply),
};

/** A public route for browsers: errors become pages. The handler sends its page with `sendPage`. */
export function GetPage(path: string | string[]): MethodDecorator {
  return applyDecorators(Get(path), Access('public'), RouteConfig(CONFIG), ApiExcludeEndpoint());
}

/** A public route that a form of a page posts to. The handler checks the CSRF token before anything else. */
export function PostForm(path: string): MethodDecorator {
  return applyDecorators(Post(path), HttpCode(200), Access('public'), RouteConfig(CONFIG), ApiExcludeEndpoint());
}
