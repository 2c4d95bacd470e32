import type { DynamicToolUIPart, UIMessage, UIMessageChunk } from 'ai';
import { isSteerPart } from './steer-part.js';

type Part = UIMessage['parts'][number];

/**
 * The chunks of a stored answer that a reader lacks. The reader has the first `step` steps and has dropped the content
 * of the last of them (`reset-step`); for a reader without any, `step` is 0. As in the live stream, what becomes of the
 * calls of a step follows all that the model has said in it, and requests for approvals come before decisions.
 * @param lastStep leaves out the steps after this one
 */
export function chunksAfterStep(parts: readonly Part[], step: number, lastStep = Infinity): UIMessageChunk[] {
  const chunks: UIMessageChunk[] = [];
  let ended: UIMessageChunk[] = [];
  let decided: UIMessageChunk[] = [];
  let current = 0;
  for (const [index, part] of parts.entries()) {
    if (part.type === 'step-start') {
      chunks.push(...ended, ...decided);
      [ended, decided] = [[], []];
      if (++current > lastStep) break;
    }
    if (current > step || (current === step && part.type !== 'step-start')) {
      const ofPart = chunksOfPart(part, `part-${index}`);
      const decision = ofPart.findIndex(({ type }) => type === 'tool-approval-response');
      if (decision >= 0) decided.push(...ofPart.splice(decision));
      const call = ofPart.findIndex(({ type }) => type === 'tool-input-available');
      if (call >= 0) ended.push(...ofPart.splice(call + 1));
      chunks.push(...ofPart);
    }
  }
  return [...chunks, ...ended, ...decided];
}

function chunksOfPart(part: Part, id: string): UIMessageChunk[] {
  switch (part.type) {
    case 'step-start':
      return [{ type: 'start-step' }];
    case 'text':
    case 'reasoning':
      return chunksOfText(part, id);
    case 'dynamic-tool':
      return chunksOfTool(part);
    case 'source-url':
    case 'source-document':
    case 'file':
    case 'reasoning-file':
    case 'custom':
      return [part];
    default:
      return isSteerPart(part) ? [part] : [];
  }
}

/** A part whose end never arrived stays open. */
function chunksOfText(part: Extract<Part, { type: 'text' | 'reasoning' }>, fallbackId: string): UIMessageChunk[] {
  const { type, text, state } = part;
  const id = part.type === 'reasoning' ? (part.id ?? fallbackId) : fallbackId;
  const provider = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
  const chunks: UIMessageChunk[] = [
    { type: `${type}-start`, id, ...provider },
    { type: `${type}-delta`, id, delta: text },
  ];
  return state === 'streaming' ? chunks : [...chunks, { type: `${type}-end`, id }];
}

function chunksOfTool(part: DynamicToolUIPart): UIMessageChunk[] {
  const { toolCallId, toolName, input, title } = part;
  const named = { toolCallId, toolName, ...(title === undefined ? {} : { title }), dynamic: true };
  if (part.state === 'input-streaming') {
    const inputTextDelta = input === undefined ? '' : JSON.stringify(input);
    return [
      { type: 'tool-input-start', ...named },
      { type: 'tool-input-delta', toolCallId, inputTextDelta },
    ];
  }
  const provider = part.callProviderMetadata === undefined ? {} : { providerMetadata: part.callProviderMetadata };
  const called: UIMessageChunk[] = [
    { type: 'tool-input-available', ...named, input, ...provider },
    ...chunksOfApproval(part),
  ];
  if (part.state === 'output-available') {
    return [...called, { type: 'tool-output-available', toolCallId, output: part.output, dynamic: true }];
  }
  if (part.state === 'output-error') {
    return [...called, { type: 'tool-output-error', toolCallId, errorText: part.errorText, dynamic: true }];
  }
  if (part.state === 'output-denied') return [...called, { type: 'tool-output-denied', toolCallId }];
  return called;
}

function chunksOfApproval({ toolCallId, approval }: DynamicToolUIPart): UIMessageChunk[] {
  if (approval === undefined) return [];
  const { id: approvalId, approved, reason } = approval;
  const request: UIMessageChunk = { type: 'tool-approval-request', approvalId, toolCallId };
  if (approved === undefined) return [request];
  return [
    request,
    { type: 'tool-approval-response', approvalId, approved, ...(reason === undefined ? {} : { reason }) },
  ];
}
