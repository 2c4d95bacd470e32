import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { type AuditEntry, AuditLog } from '../../audit/audit-log.js';
import { AuditSettings } from '../../audit/audit-settings.js';
import { AnswerBudget, type HeldAnswer } from '../../common/answers/answer-budget.js';
import { holdUntilSent } from '../../common/answers/hold-until-sent.js';
import { DomainError } from '../../common/domain-error.js';
import type { Principal } from '../../common/principal.js';
import { toDomainError } from '../../common/to-domain-error.js';
import { type ToolListing, ToolsService } from '../../tools/tools.service.js';
import { outcomeOf, SUCCESS } from '../../upstreams/invocation.js';
import { version } from '../../common/version.js';

/** The caller of the management tools. */
export interface SelfCaller {
  readonly principal: Principal;
  readonly requestId: string;
  /** The reply that the answer is sent with. */
  readonly reply: FastifyReply;
}

const INSTRUCTIONS =
  'The management tools of Signalbox: connections to MCP servers, agents that compose them, threads and runs, API keys, and the audit log of tool calls.';

/** Serves the management tools over MCP, from the same registry as `POST /api/:org/tools/:NAME`. */
@Injectable()
export class SelfServer {
  constructor(
    private readonly tools: ToolsService,
    private readonly audit: AuditLog,
    private readonly auditSettings: AuditSettings,
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
      const held = this.budget.openAnswer(caller.principal);
      return holdUntilSent(held, caller.reply, (answer) => this.call(name, args, caller, answer));
    });
    return server;
  }

  private async call(name: string, args: unknown, caller: SelfCaller, answer: HeldAnswer): Promise<CallToolResult> {
    const startedAt = performance.now();
    const { principal, requestId } = caller;
    const entry = await this.open(name, args, caller);
    try {
      const output = await this.tools.callManagementTool(name, args, principal, answer);
      await entry.close({ ...SUCCESS, durationMs: performance.now() - startedAt, result: output });
      return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output as object };
    } catch (thrown) {
      const error = toDomainError(thrown);
      const problem = problemOf(error, requestId);
      await entry.close({ ...outcomeOf(error), durationMs: performance.now() - startedAt, result: problem });
      return failure(error, problem);
    }
  }

  private async open(name: string, args: unknown, { principal, requestId }: SelfCaller): Promise<AuditEntry> {
    const isContentRecorded = await this.auditSettings.recordsContent(principal.organization.id).catch((error) => {
      throw toDomainError(error);
    });
    return this.audit.openEntry({
      organizationId: principal.organization.id,
      entryPoint: 'self',
      connectionId: null,
      agentId: null,
      toolName: name,
      userId: principal.userId,
      apiKeyId: principal.apiKeyId,
      runId: null,
      requestId,
      public: false,
      content: isContentRecorded ? { arguments: args } : undefined,
    });
  }
}

function toMcpTool(tool: ToolListing) {
  const { name, description, input_schema: inputSchema, output_schema: outputSchema, annotations } = tool;
  // The schemas of DTO classes are of type object (`schemaOf`).
  return { name, description, inputSchema, outputSchema, annotations } as never;
}

/** Describes the error, so that a model can correct its request. */
function problemOf({ code, detail, title, errors }: DomainError, requestId: string): object {
  return { code, message: detail ?? title, request_id: requestId, ...(errors?.length && { errors }) };
}

/** Only an unknown tool is a protocol error. */
function failure({ code, detail, title }: DomainError, problem: object): CallToolResult {
  if (code === 'unknown_tool') throw new ProtocolError(ProtocolErrorCode.InvalidParams, detail ?? title);
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(problem) }] };
}
