import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { AnswerBudget, type HeldAnswer, holdUntilSent } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { untilClosed } from '../../platform/http/once-closed.js';
import type { ToolListing } from '../../api/tools/tool-listing.dto.js';
import { ToolsService } from '../../api/tools/tools.service.js';
import { version } from '../../core/version.js';
import { toolFailure } from '../protocol/to-proxy-error.js';

/** The caller of the management tools. */
export interface SelfCaller {
  readonly principal: Principal;
  readonly requestId: string;
  /** The reply that the answer is sent with. */
  readonly reply: FastifyReply;
}

const INSTRUCTIONS =
  'The management tools of Signalbox: connections to MCP servers, agents that compose them, threads and runs, API ' +
  'keys, and the audit log of tool calls.';

/** Serves the management tools over MCP, from the same registry as `POST /api/:org/tools/:NAME`. */
@Injectable()
export class SelfServer {
  constructor(
    private readonly tools: ToolsService,
    private readonly budget: AnswerBudget,
  ) {}

  /** Creates the server for one caller, which lists exactly the tools that the credential permits. */
  for(caller: SelfCaller): Server {
    const server = new Server(
      { name: 'signalbox', title: 'Signalbox', version },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler('tools/list', () => ({ tools: this.tools.listFor(caller.principal).map(toMcpTool) }));
    server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {} } }) => {
      const held = this.budget.openAnswer(caller.principal, untilClosed(caller.reply));
      return holdUntilSent(held, caller.reply, (answer) => this.call(name, args, caller, answer));
    });
    return server;
  }

  /**
   * Refuses a tool call that the caller is not permitted to make, as the other MCP endpoints do.
   * @param message of JSON-RPC
   * @throws DomainError `permission_denied`
   */
  async requirePermitted(message: unknown, { principal, requestId }: SelfCaller): Promise<void> {
    const { method, params } = message as { method?: unknown; params?: { name?: unknown; arguments?: unknown } };
    if (method !== 'tools/call' || typeof params?.name !== 'string') return;
    const origin = { entryPoint: 'self', caller: principal, requestId } as const;
    await this.tools.requirePermitted(params.name, params.arguments ?? {}, origin);
  }

  private async call(name: string, args: unknown, caller: SelfCaller, answer: HeldAnswer): Promise<CallToolResult> {
    const { principal, requestId } = caller;
    try {
      const origin = { entryPoint: 'self', caller: principal, requestId } as const;
      const output = await this.tools.callManagementTool(name, args, origin, answer);
      return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output as object };
    } catch (thrown) {
      const error = toDomainError(thrown);
      // Only an unknown tool is a protocol error.
      if (error.code === 'unknown_tool') {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.detail ?? error.title);
      }
      return toolFailure(error, requestId);
    }
  }
}

function toMcpTool(tool: ToolListing) {
  const { name, description, input_schema: inputSchema, output_schema: outputSchema, annotations } = tool;
  // The schemas of DTO classes are of type object (`schemaOf`).
  return { name, description, inputSchema, outputSchema, annotations } as never;
}
