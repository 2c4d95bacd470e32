import type { UIMessage } from 'ai';
import type { MessageItem } from '../threads/thread.dto.js';
import { isInstructions, approvalRequestId } from './response-ids.js';
import type { InputItemsQuery } from './response-query.js';

/** An item of the input of a response, as `GET …/input_items` lists it. */
export type InputItem = { readonly type: string; readonly id: string; readonly [member: string]: unknown };

/** A page of them. */
export interface InputItemList {
  readonly object: 'list';
  readonly data: readonly InputItem[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** The messages that a run answers; its instructions are not among its items. */
export function inputItemsOf(question: readonly MessageItem[]): InputItem[] {
  return question
    .filter(({ id }) => !isInstructions(id))
    .map(({ id, role, parts }) => ({
      type: 'message',
      id,
      role,
      status: 'completed',
      content: (parts as UIMessage['parts']).flatMap(contentOf),
    }));
}

/** The answers to the approval requests of the step that the approval belongs to. */
export function approvalItemsOf(parts: UIMessage['parts'], approvalId: string): InputItem[] {
  const steps: InputItem[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    if (part.type !== 'dynamic-tool' || part.approval?.approved === undefined) continue;
    const { id, approved, reason } = part.approval;
    steps.at(-1)?.push({
      type: 'mcp_approval_response',
      id: `mcpa_${id}`,
      approval_request_id: approvalRequestId(id),
      approve: approved,
      reason: reason ?? null,
    });
  }
  return steps.find((items) => items.some(({ id }) => id === `mcpa_${approvalId}`)) ?? [];
}

export function pageOf(items: readonly InputItem[], { limit, order, after }: InputItemsQuery): InputItemList {
  const ordered = order === 'asc' ? items : items.toReversed();
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  const data = ordered.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}

function contentOf(part: UIMessage['parts'][number]): object[] {
  if (part.type === 'text') return [{ type: 'input_text', text: part.text }];
  if (part.type !== 'file') return [];
  if (part.mediaType.startsWith('image/')) return [{ type: 'input_image', image_url: part.url, detail: 'auto' }];
  return [{ type: 'input_file', file_url: part.url, ...(part.filename !== undefined && { filename: part.filename }) }];
}
