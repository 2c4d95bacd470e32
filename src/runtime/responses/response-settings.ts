import { isDeepStrictEqual } from 'node:util';
import type { RunnableAgent } from '../../agents/records/agent.js';
import { isRecord } from '../../core/is-record.js';
import { fault } from './response-input.js';
import type { ResponseRequest } from './response-request.dto.js';

/**
 * Refuses what only the agent decides: its tools.
 * @throws DomainError `tools_unsupported`
 */
export function refuseTools({ tools, tool_choice: choice }: ResponseRequest): void {
  const isEmpty = tools === undefined || tools === null || (Array.isArray(tools) && tools.length === 0);
  if (!isEmpty)
    throw fault('tools_unsupported', 'tools', 'The agent has its tools; those of the caller are not called.');
  if (choice === undefined || choice === null || choice === 'auto') return;
  throw fault('tools_unsupported', 'tool_choice', 'Must be auto: the agent has its tools.');
}

/**
 * Refuses a format that the agent does not answer in.
 * @throws DomainError `invalid_request`
 */
export function requireFormat({ text }: ResponseRequest, { outputSchema }: Pick<RunnableAgent, 'outputSchema'>): void {
  if (text === undefined || text === null) return;
  if (!isRecord(text)) throw fault('invalid_request', 'text', 'Must be an object.');
  const { format } = text;
  if (format === undefined || format === null) return;
  if (!isRecord(format)) throw fault('invalid_request', 'text.format', 'Must be an object.');
  if (format['type'] === 'text') return;
  if (format['type'] !== 'json_schema') {
    throw fault(
      'invalid_request',
      'text.format.type',
      'Must be text, or json_schema with the output schema of the agent.',
    );
  }
  if (outputSchema === null) {
    throw fault('invalid_request', 'text.format', 'The agent has no output schema: it answers with text.');
  }
  if (isDeepStrictEqual(format['schema'], JSON.parse(outputSchema))) return;
  throw fault('invalid_request', 'text.format.schema', 'Must equal the output schema of the agent.');
}
