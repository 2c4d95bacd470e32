import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from '../../common/domain-error.js';
import { ErrorResponder } from '../../common/error-responder.js';
import { ProtectedResource } from '../../auth/protected-resource.js';
import { Deprecation } from './deprecation.js';
import { isModernRequest, modernVersionOf } from '../protocol/mcp-headers.js';
import { readMessage } from '../protocol/inbound-message.js';
import { hasUrlElicitation } from '../protocol/url-elicitation.js';
import { rpcErrorText, rpcStatus, toolErrorText } from '../protocol/json-rpc-error.js';

/**
 * Answers errors on MCP endpoints that no filter of another module catches, as JSON-RPC errors. A 401 has the challenge of RFC
 * 9728 §5.1. `McpRoutes` calls it directly, and Nest's pipeline through `ProblemDetailsFilter`.
 */
@Injectable()
export class McpErrorResponder extends ErrorResponder {
  constructor(
    private readonly resource: ProtectedResource,
    private readonly deprecation: Deprecation,
  ) {
    super();
  }

  protected sendError(error: DomainError, request: FastifyRequest, reply: FastifyReply): void {
    // The guard may have refused the request before the controller reported the deprecation.
    if (isLegacyRoute(request) && !reply.hasHeader('deprecation')) this.deprecation.announce(request, reply);
    const challenge = this.resource.challenge(request, 'mcp', error);
    const headers = { ...error.headers, ...(challenge !== undefined && { 'www-authenticate': challenge }) };
    const client = clientOf(request);
    void reply
      .status(rpcStatus(error, isModernRequest(request.headers), client.isUrlClient))
      .headers(headers)
      .header('content-type', 'application/json')
      .send(answerText(error, request, client));
  }
}

interface Client {
  /** The id that the answer repeats; null if it cannot be read from the body (JSON-RPC 2.0 §5). */
  readonly id: string | null;
  /** Does the client ask people to open URLs? */
  readonly isUrlClient: boolean;
  /** Does it wait for the result of a tool? */
  readonly callsTool: boolean;
  readonly isModern: boolean;
}

const UNKNOWN_CLIENT: Client = { id: null, isUrlClient: false, callsTool: false, isModern: false };

function answerText(
  error: DomainError,
  request: FastifyRequest,
  { id, isUrlClient, callsTool, isModern }: Client,
): string {
  return error.code === 'invalid_arguments' && callsTool && id !== null
    ? toolErrorText(error, id, request.id, isModern)
    : rpcErrorText(error, id, request.id, isUrlClient);
}

function isLegacyRoute({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/mcp/') === true;
}

/** A tool call without an envelope has the id of the HTTP request. */
function clientOf(request: FastifyRequest): Client {
  const { body, params, id, headers } = request;
  if ('toolName' in (params as object)) return { ...UNKNOWN_CLIENT, id: JSON.stringify(id), callsTool: true };
  try {
    const message = readMessage(body);
    return {
      id: message.kind === 'request' ? message.id : null,
      isUrlClient: hasUrlElicitation(request, message),
      // A call as a task of MCP 2025-11-25 waits for a task.
      callsTool: message.method === 'tools/call' && message.params['task'] === undefined,
      isModern: isModernRequest(headers) || modernVersionOf(message) !== undefined,
    };
  } catch {
    return UNKNOWN_CLIENT;
  }
}
