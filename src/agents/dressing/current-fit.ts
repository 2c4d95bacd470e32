import { DomainError } from '../../core/domain-error.js';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import { dressSchema, SchemaMisfit } from './shown-schema.js';
import type { ToolDressing } from './tool-dressing.js';

/**
 * Why a dressed tool cannot be called as it is now: its schema has changed since it was dressed, as it can during a
 * run, so that a covered argument may be gone or have another name. Undefined if the dressing fits it.
 * @param tool as the upstream has it; undefined while that is not known
 */
export function refusalOfChange(dressing: ToolDressing, tool: KnownTool | undefined): DomainError | undefined {
  if (tool === undefined || tool.inputSchema === dressing.upstreamDefinition?.inputSchema) return undefined;
  try {
    dressSchema(tool.inputSchema, dressing);
    return undefined;
  } catch (error) {
    if (!(error instanceof SchemaMisfit)) throw error;
    return new DomainError('tool_schema_invalid', error.sentenceFor(tool.name));
  }
}
