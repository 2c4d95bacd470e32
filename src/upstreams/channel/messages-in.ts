import { UpstreamMisbehaviour } from '../upstream-error.js';
import { wholeOf } from './answer-body.js';
import { dataOf, sseParts } from './sse-parts.js';
import type { UpstreamAnswer } from './upstream-channel.js';

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** The JSON texts of the messages in an answer, of 32 MiB at most. @throws UpstreamMisbehaviour beyond that */
export async function* messagesIn({ body, contentType }: UpstreamAnswer): AsyncGenerator<string> {
  if (contentType === 'text/event-stream') {
    for await (const { bytes, isWhole } of sseParts(body, MAX_ANSWER_BYTES)) {
      const data = isWhole ? dataOf(bytes) : undefined;
      // An event may be there for its id alone (MCP 2025-11-25, transports, "Resumability").
      if (data !== undefined && data !== '') yield data;
    }
    return;
  }
  const tooLarge = (): Error => new UpstreamMisbehaviour('answers with more than 32 MiB');
  yield (await wholeOf(body, MAX_ANSWER_BYTES, tooLarge)).toString('utf8');
}
