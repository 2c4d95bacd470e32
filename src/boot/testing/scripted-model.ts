import {
  type ModelBehaviour,
  type ModelRequest as ModelRequestOf,
  type ModelServer,
  startModelServer,
} from './model-server.js';
import { type ChatRequest, ChatCompletions } from './chat-completions.js';

/** A model whose answers a test defines. Its `baseUrl` is that of a provider: `http://127.0.0.1:<port>/v1`. */
export type ScriptedModel = ModelServer<ChatRequest>;

/** A request that reached the model. */
export type ModelRequest = ModelRequestOf<ChatRequest>;

/**
 * Starts an HTTP server that speaks OpenAI's chat completions API on a free loopback port.
 *
 * @param options.apiKey the only bearer token that the model accepts; without it, the model accepts every request
 * @param options.answer chooses the behaviour by the request, for concurrent runs; scripted behaviours come first
 */
export function startScriptedModel({
  apiKey,
  answer,
}: { apiKey?: string; answer?: (request: ChatRequest) => ModelBehaviour } = {}): Promise<ScriptedModel> {
  return startModelServer(new ChatCompletions(apiKey), answer);
}
