import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ChatAnswer, ChatCompletions, type ChatRequest } from '../../../src/boot/testing/chat-completions.js';
import type { ModelUsage, ReceivedRequest, StreamedAnswer } from '../../../src/boot/testing/model-server.js';

const CALL_ID = /^[a-zA-Z0-9]{9}$/;

/** Mistral's chat completions, with its own errors, and its own rules for messages. */
export class MistralApi extends ChatCompletions {
  override refusalOf(request: ReceivedRequest): number | undefined {
    const refused = super.refusalOf(request);
    return refused ?? (isInOrder(JSON.parse(request.text) as ChatRequest) ? undefined : 400);
  }

  override errorDocument(status: number, { authorization = 'no key' }: IncomingHttpHeaders): unknown {
    const message = `No answer to you, who sent ${authorization}`;
    const type = status === 400 ? 'invalid_request_message_order' : 'fake_error';
    return status === 401
      ? { message: `Unauthorized: ${authorization}`, request_id: 'r1' }
      : { object: 'error', message, type, param: null, code: '3230', raw_status_code: status };
  }

  override answer(response: ServerResponse, { body }: { body: ChatRequest }): StreamedAnswer {
    return new MistralAnswer(response, body.model);
  }
}

class MistralAnswer extends ChatAnswer {
  override error(error: object): Promise<void> {
    return this.frames.write(JSON.stringify({ object: 'error', ...error }));
  }

  /** Mistral reports the usage with the reason, in the last chunk. */
  override async finish(
    reason: 'stop' | 'tool-calls',
    { inputTokens, outputTokens, cachedInputTokens }: ModelUsage,
  ): Promise<void> {
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      ...(cachedInputTokens === undefined ? {} : { num_cached_tokens: cachedInputTokens }),
    };
    await this.chunk({ content: '' }, { finish_reason: reason === 'stop' ? 'stop' : 'tool_calls' }, { usage });
    await this.frames.write('[DONE]');
    this.frames.end();
  }

  protected override newCallId(): string {
    return randomBytes(9).toString('hex').slice(0, 9);
  }
}

/** The rules of mistral-common: ids of nine letters and digits, and no message of the user directly after a result. */
function isInOrder({ messages }: ChatRequest): boolean {
  return messages.every(({ role, tool_calls: calls, tool_call_id: id = 'abcdefghi' }, index) => {
    const ids = [id, ...((calls ?? []) as { id: string }[]).map((call) => call.id)];
    return ids.every((each) => CALL_ID.test(each)) && !(role === 'user' && messages[index - 1]?.role === 'tool');
  });
}
