import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from '../../core/domain-error.js';
import { ErrorResponder } from '../../core/error-responder.js';

/** The types of OpenAI's errors, by the status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

/** An error as OpenAI's clients read it. */
const ERROR_ENVELOPE = {
  title: 'OpenAiError',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'code', 'param'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        code: { type: 'string', description: 'A code of `docs/api/errors.md`.' },
        param: { type: ['string', 'null'], description: 'The path of the first fault in the request.' },
      },
    },
  },
};

/** Responds with the envelope of OpenAI's errors. Codes and statuses are those of every other route. */
class OpenAiErrors extends ErrorResponder {
  protected sendError(error: DomainError, _request: FastifyRequest, reply: FastifyReply): void {
    const type = TYPES[error.status] ?? (error.status < 500 ? 'invalid_request_error' : 'server_error');
    const { code, detail, title, errors } = error;
    void reply
      .status(error.status)
      .headers(error.headers)
      .header('content-type', 'application/json; charset=utf-8')
      .send(
        JSON.stringify({ error: { message: detail ?? `${title}.`, type, code, param: errors?.[0]?.path ?? null } }),
      );
  }
}

const openAiErrors = new OpenAiErrors();

const CONFIG = {
  answerError: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) =>
    openAiErrors.respondWithError(thrown, request, reply),
};

/** A route whose errors have OpenAI's envelope. */
export function AnswersAsOpenAi(): MethodDecorator {
  return applyDecorators(
    RouteConfig(CONFIG),
    ApiResponse({
      status: 'default',
      description: "Any error, in OpenAI's envelope",
      content: { 'application/json': { schema: ERROR_ENVELOPE } },
    }),
  );
}
