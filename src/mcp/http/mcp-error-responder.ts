import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from '../../common/domain-error.js';
import { ErrorResponder } from '../../common/error-responder.js';
import { ProtectedResource } from '../../auth/protected-resource.js';
import { Deprecation } from './deprecation.js';
import { isModernRequest } from '../protocol/mcp-headers.js';
import { readMessage } from '../protocol/inbound-message.js';
import { hasUrlElicitation } from '../protocol/url-elicitation.js';
import { rpcErrorText, rpcStatus } from '../protocol/json-rpc-error.js';

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
    const { id, isUrlClient } = clientOf(request);
    void reply
      .status(rpcStatus(error, isModernRequest(request.headers), isUrlClient))
      .headers(headers)
      .header('content-type', 'application/json')
      .send(rpcErrorText(error, id, request.id, isUrlClient));
  }
}

function isLegacyRoute({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/mcp/') === true;
}

/**
 * The id that the answer repeats; null if it cannot be read from the body (JSON-RPC 2.0 §5). A tool call without an envelope has
 * the id of the HTTP request. `isUrlClient`: the client asks people to open URLs.
 */
function clientOf(request: FastifyRequest): { id: string | null; isUrlClient: boolean } {
  const { body, params, id } = request;
  if ('toolName' in (params as object)) return { id: JSON.stringify(id), isUrlClient: false };
  try {
    const message = readMessage(body);
    return { id: message.kind === 'request' ? message.id : null, isUrlClient: hasUrlElicitation(request, message) };
  } catch {
    return { id: null, isUrlClient: false };
  }
}
