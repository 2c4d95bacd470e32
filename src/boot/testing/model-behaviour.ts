/** How the model answers one request. */
export type ModelBehaviour =
  /** Streams the deltas. */
  | ({ kind: 'text'; deltas: string[] } & Paced)
  /** Calls tools, all in one answer, after the deltas. Script the answer to their results as the next behaviour. */
  | ({ kind: 'tool-calls'; calls: ModelToolCall[]; deltas?: string[] } & Paced)
  /** Refuses with an HTTP status and an error document: by default one of the API that quotes the credential. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; document?: unknown }
  /** Answers every request with this body. */
  | { kind: 'body'; body: string; contentType?: string }
  /** Takes the request and never answers. */
  | { kind: 'hang' }
  /** Streams the deltas and the beginning of the call, and leaves the response open. */
  | { kind: 'hang-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then destroys the connection. */
  | { kind: 'break-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then a frame that is not JSON. */
  | { kind: 'malformed-after'; deltas: string[]; call?: ModelToolCall }
  /** Streams the deltas and the beginning of the call, then an error frame of the API. */
  | { kind: 'error-after'; deltas: string[]; call?: ModelToolCall; error: object }
  /** Streams the deltas and the beginning of the call, and ends the response without a finish reason. */
  | { kind: 'cut-after'; deltas: string[]; call?: ModelToolCall };

/** How fast an answer comes, and what it reports. */
interface Paced {
  /** A pause before each delta. */
  delayMs?: number;
  /** What the answer waits for after its deltas, before it goes on. */
  until?: Promise<unknown>;
  usage?: ModelUsage;
}

/** A call of a tool by its name in the agent. */
export interface ModelToolCall {
  name: string;
  arguments: object;
  id?: string;
}

/** The token usage that one answer reports. */
export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that came from the provider's cache. */
  cachedInputTokens?: number;
}

/** Part of every malformed frame. The service must never forward it to a caller. */
export const PROVIDER_SECRET = 'words-of-the-provider';
