import { Injectable } from '@nestjs/common';
import { type AuditEntry, AuditLog } from '../../audit/calls/audit-log.js';
import type { EntryPoint } from '../../audit/calls/audit-record.js';
import { AuditSettings } from '../../audit/calls/audit-settings.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { suggestionFor } from '../../core/closest-name.js';
import { DomainError } from '../../core/domain-error.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { requirePermission } from '../../core/require-permission.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { validateInput } from '../../core/validation/validate-input.js';
import type { ManagementToolDefinition } from '../../core/tools/management-tool.js';
import type { ToolListing } from './tool-listing.dto.js';
import { ToolRegistry } from './tool-registry.js';

/** Where a call of a management tool comes from. */
interface ToolCallOrigin {
  readonly entryPoint: Extract<EntryPoint, 'api' | 'self'>;
  readonly caller: Principal;
  readonly requestId: string;
}

/** Calls management tools: recorded → known → permitted → valid → handled. HTTP and MCP calls both use this service. */
@Injectable()
export class ToolsService {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly audit: AuditLog,
    private readonly auditSettings: AuditSettings,
  ) {}

  /** The tools that this caller can call. */
  listFor(caller: Principal): ToolListing[] {
    return this.registry
      .all()
      .filter(({ definition }) => isPermitted(caller, definition))
      .map(({ definition, inputSchema, outputSchema }) => ({
        name: definition.name,
        description: definition.description,
        input_schema: inputSchema,
        output_schema: outputSchema,
        annotations: definition.annotations,
      }));
  }

  /**
   * The call is on record, allowed or denied, when the promise settles.
   * @param answer the memory budget of the response; the HTTP or MCP endpoint releases it when the response has been
   * sent
   * @throws DomainError `unknown_tool`, `permission_denied`, `invalid_request`, `storage_unavailable` if the call
   *   cannot be
   * recorded, or what the tool throws
   */
  async callManagementTool(name: string, input: unknown, origin: ToolCallOrigin, answer: HeldAnswer): Promise<unknown> {
    const startedAt = performance.now();
    const entry = await this.openEntry(name, input, origin);
    try {
      const output = await this.call(name, input, origin.caller, answer);
      const durationMs = performance.now() - startedAt;
      const result = this.registry.findTool(name)?.definition.isSealed === true ? undefined : output;
      await entry.close({ status: 'success', errorCode: null, durationMs, result });
      return output;
    } catch (thrown) {
      const error = toDomainError(thrown);
      const status = error.code === 'permission_denied' ? 'denied' : 'error';
      const result = problemOf(error, origin.requestId);
      await entry.close({ status, errorCode: error.code, durationMs: performance.now() - startedAt, result });
      throw thrown;
    }
  }

  /**
   * Refuses, on record, a call that the caller is not permitted to make: for an endpoint that answers so before it
   * handles the call.
   * @throws DomainError `permission_denied`
   */
  async requirePermitted(name: string, input: unknown, origin: ToolCallOrigin): Promise<void> {
    const tool = this.registry.findTool(name);
    if (tool === undefined || isPermitted(origin.caller, tool.definition)) return;
    const entry = await this.openEntry(name, input, origin);
    await entry.close({ status: 'denied', errorCode: 'permission_denied', durationMs: 0 });
    requirePermissions(origin.caller, tool.definition);
  }

  private async call(name: string, input: unknown, caller: Principal, answer: HeldAnswer): Promise<unknown> {
    const tool = this.registry.findTool(name);
    if (tool === undefined) throw this.unknownTool(name, caller);
    requirePermissions(caller, tool.definition);
    return tool.handle(validateInput(tool.definition.input, input), caller, answer);
  }

  /** Suggests only tools that the caller can call. */
  private unknownTool(name: string, caller: Principal): DomainError {
    const names = this.registry.all().flatMap(({ definition }) => {
      return isPermitted(caller, definition) ? [definition.name] : [];
    });
    return new DomainError(
      'unknown_tool',
      `There is no management tool with this name.${suggestionFor(name, names)} \`GET ` +
        `/api/${caller.organization.slug}/tools\` lists them.`,
    );
  }

  private async openEntry(
    toolName: string,
    input: unknown,
    { entryPoint, caller, requestId }: ToolCallOrigin,
  ): Promise<AuditEntry> {
    const organizationId = caller.organization.id;
    const isContentRecorded = await this.auditSettings.recordsContent(organizationId);
    return this.audit.openEntry({
      organizationId,
      entryPoint,
      connectionId: null,
      agentId: null,
      toolName,
      userId: caller.userId,
      apiKeyId: caller.apiKeyId,
      runId: null,
      requestId,
      public: false,
      content: isContentRecorded ? { arguments: input } : undefined,
    });
  }
}

/**
 * A person who is signed in can use what is open to people without the permission. A browser token, and every API key,
 * opens only what it names.
 */
function isPermitted(
  caller: Principal,
  { name, isOpenToPeople, permissions = [name] }: ManagementToolDefinition,
): boolean {
  const isPerson = caller.userId !== null && caller.apiKeyId === null && caller.kind !== 'thread_token';
  return (isOpenToPeople === true && isPerson) || permissions.every((one) => allows(caller.permissions, SELF, one));
}

/** @throws DomainError `permission_denied` */
function requirePermissions(caller: Principal, definition: ManagementToolDefinition): void {
  if (isPermitted(caller, definition)) return;
  for (const permission of definition.permissions ?? [definition.name]) requirePermission(caller, permission);
}

/** Describes the error, so that a model can correct its request. */
export function problemOf({ code, detail, title, errors }: DomainError, requestId: string): object {
  return { code, message: detail ?? title, request_id: requestId, ...(errors?.length && { errors }) };
}
