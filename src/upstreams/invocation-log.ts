import { Injectable } from '@nestjs/common';
import { AuditLog } from '../audit/calls/audit-log.js';
import { ProxyTelemetry } from '../platform/telemetry/proxy-telemetry.js';
import { Invocation } from './invocation.js';
import type { ToolCall } from './tool-call.js';

/** A tool call as far as it is recorded and measured. */
type RecordedCall = Omit<ToolCall, 'owner' | 'permitted' | 'sessionTools'>;

/** What is known of a call when it is admitted or refused. */
export interface CallFindings {
  /** Does a tool with this name exist? Callers can invent any number of names, which must not become metric labels. */
  readonly isKnownTool: boolean;
  /** Is the call permitted because the tool is public? */
  readonly isPublic: boolean;
  /** On the monotonic clock, in milliseconds. */
  readonly startedAt: number;
}

/** Opens the audit entry and the measurement of tool calls. */
@Injectable()
export class InvocationLog {
  constructor(
    private readonly audit: AuditLog,
    private readonly telemetry: ProxyTelemetry,
  ) {}

  /** Always settle the invocation: only then is the call recorded. */
  openInvocation(call: RecordedCall, { isKnownTool, isPublic, startedAt }: CallFindings): Invocation {
    const { connection, caller, toolName, entryPoint, agentId = null } = call;
    const entry = this.audit.openEntry({
      organizationId: connection.organizationId,
      entryPoint,
      connectionId: connection.id,
      agentId,
      toolName,
      userId: caller.userId ?? null,
      apiKeyId: caller.apiKeyId ?? null,
      runId: caller.runId ?? null,
      requestId: caller.requestId,
      public: isPublic,
      content: connection.auditContent ? { arguments: call.args } : undefined,
    });
    const measured = this.telemetry.begin({
      connectionId: connection.id,
      toolName,
      toolLabel: isKnownTool ? toolName : 'other',
      method: 'tools/call',
      requestId: caller.requestId,
      streamable: call.streamable ?? false,
      incoming: call.trace ?? {},
      isOwn: entryPoint === 'run',
    });
    return new Invocation(entry, measured, startedAt);
  }
}
