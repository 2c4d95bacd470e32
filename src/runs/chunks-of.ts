import type { DynamicToolUIPart, UIMessage, UIMessageChunk } from 'ai';

/** Chunks that fold into the first `steps` steps of these parts: text, reasoning and tool calls. */
export function chunksOf(parts: UIMessage['parts'], steps: number): UIMessageChunk[] {
  const chunks: UIMessageChunk[] = [];
  let step = 0;
  for (const [index, part] of parts.entries()) {
    if (part.type === 'step-start' && ++step > steps) break;
    chunks.push(...chunksOfPart(part, `part-${index}`));
  }
  return chunks;
}

function chunksOfPart(part: UIMessage['parts'][number], id: string): UIMessageChunk[] {
  switch (part.type) {
    case 'step-start':
      return [{ type: 'start-step' }];
    case 'text':
      return [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id },
      ];
    case 'reasoning':
      return [
        { type: 'reasoning-start', id },
        { type: 'reasoning-delta', id, delta: part.text },
        { type: 'reasoning-end', id },
      ];
    case 'dynamic-tool':
      return chunksOfTool(part);
    default:
      return [];
  }
}

function chunksOfTool(part: DynamicToolUIPart): UIMessageChunk[] {
  const { toolCallId, toolName, input } = part;
  const called: UIMessageChunk = { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
  if (part.state === 'output-available') {
    return [called, { type: 'tool-output-available', toolCallId, output: part.output, dynamic: true }];
  }
  if (part.state === 'output-error') {
    return [called, { type: 'tool-output-error', toolCallId, errorText: part.errorText, dynamic: true }];
  }
  return [called];
}
