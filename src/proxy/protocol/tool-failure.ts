import type { CallToolResult } from '@modelcontextprotocol/server';
import { problemOf } from '../../api/tools/tools.service.js';
import type { DomainError } from '../../core/domain-error.js';

/** As many faults of arguments as those of other tools are listed with. */
const MAX_FAULTS = 20;

/** The result of a call of a tool of this service that has failed: a sentence for a model, and JSON for programs. */
export function toolFailure(error: DomainError, requestId: string): CallToolResult {
  const text = `${sentenceOf(error)}\n${JSON.stringify(problemOf(error, requestId))}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** Names every fault, because the detail names only one. */
function sentenceOf({ detail, title, errors = [] }: DomainError): string {
  if (errors.length < 2) return detail ?? `${title}.`;
  const faults = errors
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return `${title}. ${faults.join(' ')}`;
}
