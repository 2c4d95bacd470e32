import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { EchoAnswer } from './echo-answer.js';

/**
 * The model that needs no provider, key or network: `builtin/echo`. It answers `You said: <text>`. Lines of the last
 * user message that start with a slash direct it (see `parseDirectives`). It keeps no state between calls and answers
 * equal prompts equally, except for `/random`. It counts words as tokens.
 */
export function createEchoModel(): LanguageModelV4 {
  return { specificationVersion: 'v4', provider: 'builtin', modelId: 'echo', supportedUrls: {}, doStream, doGenerate };
}

async function doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
  options.abortSignal?.throwIfAborted();
  const cancelled = new AbortController();
  const signal = AbortSignal.any([cancelled.signal, options.abortSignal ?? cancelled.signal]);
  const parts = new EchoAnswer(options, signal).stream();

  return {
    stream: new ReadableStream<LanguageModelV4StreamPart>(
      {
        async pull(controller) {
          const next = await parts.next().catch((error: unknown) => {
            // Like fetch, it throws the reason of the abort.
            throw signal.aborted ? signal.reason : error;
          });
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        },
        cancel(reason) {
          cancelled.abort(reason);
        },
      },
      { highWaterMark: 0 },
    ),
  };
}

async function doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  const { stream } = await doStream(options);
  const content: LanguageModelV4Content[] = [];
  let text = '';
  for await (const part of stream) {
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'text-end') {
      content.push({ type: 'text', text });
      text = '';
    }
    if (part.type === 'tool-call') content.push(part);
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish') return { content, finishReason: part.finishReason, usage: part.usage, warnings: [] };
  }
  throw new Error('The built-in model ended without a finish part.');
}
