import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import { wholeOf } from './answer-body.js';
import { dataOf, sseParts } from './sse-parts.js';
import type { UpstreamAnswer } from './upstream-channel.js';

/** The JSON texts of the messages in an answer. @throws UpstreamMisbehaviour if an answer is too costly to parse */
export async function* messagesIn({ body, contentType }: UpstreamAnswer): AsyncGenerator<string> {
  if (contentType === 'text/event-stream') {
    for await (const { bytes, isWhole } of sseParts(body)) {
      const data = isWhole ? dataOf(bytes) : undefined;
      // An event can consist of its id alone (MCP 2025-11-25, transports, "Resumability").
      if (data !== undefined && data !== '') yield data;
    }
    return;
  }
  const tooLarge = (): Error => new UpstreamMisbehaviour('answered with more than the service accepts');
  yield (await wholeOf(body, tooLarge)).toString('utf8');
}
