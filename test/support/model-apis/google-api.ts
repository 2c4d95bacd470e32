import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  type ModelToolCall,
  type ModelUsage,
  PROVIDER_SECRET,
  type ModelApi,
  type ReceivedRequest,
  type StreamedAnswer,
  ServerSentFrames,
} from '../../../src/boot/testing/model-server.js';

/** The part of a `generateContent` request that tests read. */
export interface GoogleRequest {
  contents: { role: string; parts: Record<string, unknown>[] }[];
  systemInstruction?: { parts: { text: string }[] };
  generationConfig?: { temperature?: number; maxOutputTokens?: number };
  tools?: { functionDeclarations?: { name: string }[] }[];
}

const PATH = /^\/v1beta\/models\/[^/:]+:streamGenerateContent\?alt=sse$/;

/** Google's Gemini API: `models/<model>:streamGenerateContent`. */
export class GoogleApi implements ModelApi<GoogleRequest> {
  readonly basePath = '/v1beta';

  constructor(private readonly apiKey: string) {}

  refusalOf({ method, path, headers }: ReceivedRequest): number | undefined {
    if (method !== 'POST' || !PATH.test(path)) return 404;
    // Google refuses a wrong key as an invalid argument.
    return headers['x-goog-api-key'] === this.apiKey ? undefined : 400;
  }

  errorDocument(code: number, headers: IncomingHttpHeaders): unknown {
    const message = `API key not valid. Please pass a valid API key, not ${String(headers['x-goog-api-key'])}.`;
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ];
    return code === 404
      ? { error: { code, message: 'models/gone is not found for API version v1beta.', status: 'NOT_FOUND' } }
      : { error: { code, message, status: 'INVALID_ARGUMENT', details } };
  }

  answer(response: ServerResponse): StreamedAnswer {
    return new GoogleAnswer(response);
  }
}

class GoogleAnswer implements StreamedAnswer {
  private readonly frames: ServerSentFrames;

  constructor(response: ServerResponse) {
    this.frames = new ServerSentFrames(response);
  }

  text(text: string): Promise<void> {
    return this.candidate({ content: { role: 'model', parts: [{ text }] } });
  }

  toolCall(_index: number, { id, name, arguments: args }: ModelToolCall): Promise<void> {
    const functionCall = { name, args, ...(id === undefined ? {} : { id }) };
    return this.candidate({ content: { role: 'model', parts: [{ functionCall, thoughtSignature: 'c2ln' }] } });
  }

  malformed(): Promise<void> {
    return this.frames.write(`{"candidates": ${PROVIDER_SECRET}`);
  }

  error(error: object): Promise<void> {
    return this.frames.write(JSON.stringify({ error }));
  }

  /** Gemini has no reason of its own for calls, and reports the usage with the last candidate. */
  async finish(
    _reason: 'stop' | 'tool-calls',
    { inputTokens, outputTokens, cachedInputTokens }: ModelUsage,
  ): Promise<void> {
    const usageMetadata = {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens,
      totalTokenCount: inputTokens + outputTokens,
      ...(cachedInputTokens === undefined ? {} : { cachedContentTokenCount: cachedInputTokens }),
    };
    await this.candidate(
      { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' },
      { usageMetadata },
    );
    this.frames.end();
  }

  private candidate(candidate: object, fields: object = {}): Promise<void> {
    const candidates = [{ index: 0, ...candidate }];
    return this.frames.write(JSON.stringify({ candidates, responseId: randomUUID(), ...fields }));
  }
}
