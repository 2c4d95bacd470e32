import { InvalidResponseDataError, type LanguageModelV4 } from '@ai-sdk/provider';

/** The smallest answer that every provider accepts to be asked for. */
const MAX_OUTPUT_TOKENS = 16;

/**
 * Asks a model for a few words, streamed, as runs do. Returns when the answer has ended well; throws what the SDK throws
 * otherwise, or what the signal was aborted with.
 */
export async function probe(model: LanguageModelV4, signal: AbortSignal): Promise<void> {
  const { stream } = await model.doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Reply with the word OK.' }] }],
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    abortSignal: signal,
  });
  let answered = false;
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    // Where the SDK finds no completion, it reports neither text nor why the text ended.
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') answered = true;
    if (part.type === 'finish' && part.finishReason.unified !== 'other') answered = true;
  }
  if (!answered) throw new InvalidResponseDataError({ data: null, message: 'The answer holds no completion.' });
}
