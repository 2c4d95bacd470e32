import type { CallToolResult, StandardSchemaV1 } from '@modelcontextprotocol/client';
import { isRecord } from '../../core/is-record.js';
import { isTool } from '../contract/upstream.js';
import type { ToolPage } from '../contract/tool-listing.js';

/**
 * A `tools/call` result as the upstream sent it. Members that this version of MCP does not define are kept, also in
 * content blocks, where the SDK's schema would drop them. An absent `content` becomes an empty list.
 */
export const CALL_TOOL_RESULT = schema<CallToolResult>((value) => {
  const content = value['content'] ?? [];
  if (!Array.isArray(content) || !content.every((block) => isRecord(block) && typeof block['type'] === 'string')) {
    return undefined;
  }
  return { ...value, content };
});

/** The result of any request, as the upstream sent it. */
export const ANY_RESULT = schema<object>((value) => value);

/** A `tools/list` result, with the tools as the upstream sent them. */
export const TOOL_PAGE = schema<ToolPage>(({ tools, nextCursor }) => {
  if (!Array.isArray(tools) || !tools.every(isTool)) return undefined;
  return { tools, ...(typeof nextCursor === 'string' && { nextCursor }) };
});

/** Creates a Standard Schema from a function that returns undefined for an invalid value. */
function schema<T>(read: (value: Record<string, unknown>) => T | undefined): StandardSchemaV1<unknown, T> {
  const validate = (input: unknown): StandardSchemaV1.Result<T> => {
    const value = isRecord(input) ? read(input) : undefined;
    return value === undefined
      ? { issues: [{ message: 'The result does not have the shape that MCP defines' }] }
      : { value };
  };
  return { '~standard': { version: 1, vendor: 'signalbox', validate } };
}
