import { SetMetadata } from '@nestjs/common';
import { declarePermissions } from '../permissions.js';
import type { InputClass } from '../validation/validate-input.js';

/** Hints about a tool's behavior, as MCP names them (specification 2025-11-25, ToolAnnotations). */
export interface ToolAnnotations {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
}

/** The single definition of a management tool; HTTP, OpenAPI and MCP derive from it. */
export interface ManagementToolDefinition {
  name: string;
  description: string;
  /** The class of the input; its JSON Schema comes from the same class. */
  input: InputClass;
  /** The class that describes the output. */
  output: InputClass;
  annotations: ToolAnnotations;
  /** The management permissions that callers need, all of them; by default the one with the tool's name. */
  permissions?: readonly string[];
  /**
   * A person who is signed in can call the tool without the permission, for what belongs to that person: the handler
   * sees to that. An API key needs the permission, also that of a person.
   */
  isOpenToPeople?: boolean;
  /** What it answers is kept sealed, and never part of the record of calls. */
  isSealed?: boolean;
}

export const MANAGEMENT_TOOL = 'signalbox:management-tool';

/**
 * Makes a provider's method the handler of a management tool: `(input, caller: Principal, answer: HeldAnswer) =>
 * Promise<output>`. The registry discovers it, and calls it only after checking the caller's permission and the input.
 * A handler that reads much data first reserves its memory from `answer`, as `paginate` does.
 */
export function ManagementTool(definition: ManagementToolDefinition): MethodDecorator {
  declarePermissions(definition.name, ...(definition.permissions ?? []));
  return SetMetadata(MANAGEMENT_TOOL, definition);
}

/** Annotations of tools that only read. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, idempotentHint: true };
/** Annotations of tools that add something. */
export const CREATES: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
/** Annotations of tools that change existing data, with the same result when repeated. */
export const UPDATES: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true };
/** Annotations of tools that remove something. */
export const DESTROYS: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true };
