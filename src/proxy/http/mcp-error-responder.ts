import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from '../../core/domain-error.js';
import { ErrorResponder } from '../../core/error-responder.js';
import { ProtectedResource } from '../../identity/auth/protected-resource.js';
import { Deprecation } from './deprecated-paths.controller.js';
import { SignInStates } from '../forwarding/session/request-states.js';
import { isModernMessage, type InboundMessage, readMessage } from '../protocol/inbound-message.js';
import { hasUrlElicitation } from '../protocol/client-capabilities.js';
import {
  canAsk,
  cannotSignInText,
  rpcErrorText,
  rpcStatus,
  signInPageOf,
  signInRequestText,
  toolErrorText,
} from '../protocol/json-rpc-error.js';
import { SIGN_IN } from '../protocol/sign-in-tool.js';

/**
 * Answers errors on MCP endpoints that no filter of another module catches, as JSON-RPC errors. A 401 has the challenge
 * of RFC 9728 §5.1. `ProblemDetailsFilter` calls it.
 */
@Injectable()
export class McpErrorResponder extends ErrorResponder {
  constructor(
    private readonly resource: ProtectedResource,
    private readonly deprecation: Deprecation,
    private readonly signIns: SignInStates,
  ) {
    super();
  }

  protected sendError(error: DomainError, request: FastifyRequest, reply: FastifyReply): void {
    // The guard may have refused the request before the controller reported the deprecation.
    if (isLegacyRoute(request) && !reply.hasHeader('deprecation')) this.deprecation.announce(request, reply);
    const challenge = this.resource.challenge(request, 'mcp', error);
    const headers = { ...error.headers, ...(challenge !== undefined && { 'www-authenticate': challenge }) };
    const { status, text } = this.answerTo(error, request);
    void reply.status(status).headers(headers).header('content-type', 'application/json').send(text);
  }

  private answerTo(error: DomainError, request: FastifyRequest): { status: number; text: string } {
    const client = clientOf(request);
    const { id, isModern, isUrlClient, message } = client;
    if (id !== null && isForModel(error, client)) {
      return { status: 200, text: toolErrorText(error, id, request.id, isModern) };
    }
    const page = signInPageOf(error);
    if (isModern && id !== null && page !== undefined && message !== undefined && canAsk(message.method ?? '')) {
      return isUrlClient
        ? { status: 200, text: signInRequestText(error, page, id, this.signIns.seal(request, message)) }
        : { status: 400, text: cannotSignInText(error, id, request.id) };
    }
    // The modern era has no error that asks to open a URL.
    const takesUrls = isUrlClient && !isModern;
    return { status: rpcStatus(error, isModern, takesUrls), text: rpcErrorText(error, id, request.id, takesUrls) };
  }
}

interface Client {
  /** The id that the answer repeats; null if it cannot be read from the body (JSON-RPC 2.0 §5). */
  readonly id: string | null;
  /** True if the client asks people to open URLs. */
  readonly isUrlClient: boolean;
  /** True if it waits for the result of a tool. */
  readonly callsTool: boolean;
  readonly isModern: boolean;
  /** Undefined if there is none, or if it cannot be read. */
  readonly message?: InboundMessage;
}

const UNKNOWN_CLIENT: Client = { id: null, isUrlClient: false, callsTool: false, isModern: false };

/** True if the model should read the error. Clients pass only results on to it. */
function isForModel(error: DomainError, { callsTool, isUrlClient, message }: Client): boolean {
  if (!callsTool) return false;
  if (error.code === 'invalid_arguments') return true;
  // The stand-in tool exists only so that the model can read this error.
  const isShown = error.code === 'unknown_tool' || (signInPageOf(error) !== undefined && !isUrlClient);
  return message?.params['name'] === SIGN_IN && isShown;
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
      isModern: isModernMessage(headers, message),
      message,
    };
  } catch {
    return UNKNOWN_CLIENT;
  }
}
