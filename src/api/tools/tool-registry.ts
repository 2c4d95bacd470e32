import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { byName, contributedMethods } from '../../core/contributions.js';
import { MANAGEMENT_TOOL, type ManagementToolDefinition } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import { type JsonSchema, schemaOf } from '../../core/validation/schema-of.js';

type Handler = (input: object, caller: Principal, answer: HeldAnswer) => Promise<unknown>;

/** A registered management tool: its definition, the schemas of its classes and its handler. */
export class RegisteredTool {
  constructor(
    readonly definition: ManagementToolDefinition,
    readonly handle: Handler,
  ) {}

  // Described when they are asked for: the schemas of all tools are a large part of the time of a start.
  get inputSchema(): JsonSchema {
    return schemaOf(this.definition.input);
  }

  get outputSchema(): JsonSchema {
    return schemaOf(this.definition.output);
  }
}

/** Every management tool of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class ToolRegistry implements OnModuleInit {
  private readonly tools = new Map<string, RegisteredTool>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const methods = contributedMethods<ManagementToolDefinition, Handler>(this.discovery, MANAGEMENT_TOOL);
    for (const [name, { metadata: definition, value }] of byName(methods, { sort: 'management tool' })) {
      this.tools.set(name, new RegisteredTool(definition, value));
    }
  }

  findTool(name: string): RegisteredTool | undefined {
    return this.tools.get(name);
  }

  /** All tools by name. */
  all(): RegisteredTool[] {
    return [...this.tools.values()].toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  }
}
