import type { CallToolResult } from '@modelcontextprotocol/server';
import type { RunResult } from '../../../runtime/turns/run-result.dto.js';
import { METADATA_KEY } from '../../../upstreams/catalog/tool-list.js';
import type { AskedRun } from './asked-runs.js';

/** The result of the call that has started this run, once it is over. */
export function toToolResult({ status, message, output, error }: RunResult, run: AskedRun): CallToolResult {
  const texts =
    status === 'completed'
      ? [output === null ? answerIn(message?.parts ?? []) : JSON.stringify(output)]
      : [error?.message ?? `The run was ${status}.`];
  const content: CallToolResult['content'] = texts.map((text) => ({ type: 'text', text }));
  if (status !== 'completed') return namingRun({ isError: true, content }, run);
  return namingRun({ content, ...(output !== null && { structuredContent: output }) }, run);
}

/** The result with the ids of the run, also where it does not say what the run has come to. */
export function namingRun(result: CallToolResult, { id, threadId }: AskedRun): CallToolResult {
  // A model continues the conversation with it.
  const text = `thread_id: ${threadId}`;
  const named = { type: 'text' as const, text, annotations: { audience: ['assistant' as const] } };
  const _meta = { [METADATA_KEY]: { task_id: id, thread_id: threadId } };
  return { ...result, content: [...result.content, named], _meta };
}

/** What the agent says in the last step in which it says anything. */
function answerIn(parts: readonly object[]): string {
  const steps: string[] = [''];
  for (const { type, text } of parts as readonly { readonly type: string; readonly text?: unknown }[]) {
    if (type === 'step-start') steps.push('');
    else if (type === 'text' && typeof text === 'string') steps.push((steps.pop() ?? '') + text);
  }
  return steps.findLast((text) => text.trim() !== '') ?? '';
}
