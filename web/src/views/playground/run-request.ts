import type { RunRequest } from '../../../../packages/client/src/api.js';
import type { MessagePart } from '../../transcript/message.js';
import type { RunOptions } from './run-options.js';

/** A message of the user, and how it is answered. */
interface Question {
  readonly messageId: string;
  readonly parts: readonly MessagePart[];
  readonly agentId: string;
  readonly options: RunOptions;
}

/** The request that posts a message with its texts and files. */
export function runRequestOf({ messageId, parts, agentId, options }: Question): RunRequest {
  const { tier, temperature } = options;
  return {
    messages: [{ id: messageId, role: 'user', parts: parts.flatMap(requestPartsOf) }],
    agent: { id: agentId },
    ...(tier && { tier }),
    ...(temperature !== undefined && { temperature }),
  };
}

function requestPartsOf(part: MessagePart): RunRequest['messages'][number]['parts'] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }];
  if (part.type !== 'file') return [];
  const { type, mediaType, filename, url } = part;
  return [{ type, mediaType, url, ...(filename !== undefined && { filename }) }];
}
