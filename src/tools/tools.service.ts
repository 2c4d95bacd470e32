import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../common/answers/answer-budget.js';
import { DomainError } from '../common/domain-error.js';
import { allows, SELF } from '../common/permissions.js';
import type { Principal } from '../common/principal.js';
import { requirePermission } from '../common/require-permission.js';
import { validateInput } from '../common/validation/validate-input.js';
import type { ToolAnnotations } from '../common/tools/management-tool.js';
import type { JsonSchema } from '../common/validation/schema-of.js';
import { ToolRegistry } from './tool-registry.js';

/** A management tool as listed for callers. */
export interface ToolListing {
  name: string;
  description: string;
  input_schema: JsonSchema;
  output_schema: JsonSchema;
  annotations: ToolAnnotations;
}

/** Calls management tools: known → permitted → valid → handled. HTTP and MCP calls both use this service. */
@Injectable()
export class ToolsService {
  constructor(private readonly registry: ToolRegistry) {}

  /** The tools that this caller can call. */
  listFor(caller: Principal): ToolListing[] {
    return this.registry
      .all()
      .filter(({ definition }) => allows(caller.permissions, SELF, definition.name))
      .map(({ definition, inputSchema, outputSchema }) => ({
        name: definition.name,
        description: definition.description,
        input_schema: inputSchema,
        output_schema: outputSchema,
        annotations: definition.annotations,
      }));
  }

  /**
   * @param answer the memory budget of the response; the HTTP or MCP endpoint releases it when the response has been
   * sent
   * @throws DomainError `unknown_tool`, `permission_denied`, `invalid_request`, or what the tool throws
   */
  async callManagementTool(name: string, body: unknown, caller: Principal, answer: HeldAnswer): Promise<unknown> {
    const tool = this.registry.findTool(name);
    if (tool === undefined) throw new DomainError('unknown_tool', 'There is no management tool with this name.');
    requirePermission(caller, name);
    return tool.handle(validateInput(tool.definition.input, body ?? {}), caller, answer);
  }
}
