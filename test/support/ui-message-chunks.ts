import type { UIMessageChunk } from 'ai';
import * as fc from 'fast-check';

/** What to try next and the material for it. Whether it makes a chunk depends on what has started by then. */
export const operation = fc.record({
  kind: fc.constantFrom(
    ...(['start', 'start-step', 'reset-step', 'message-metadata'] as const),
    ...(['text-start', 'text-delta', 'text-delta', 'text-end'] as const),
    ...(['reasoning-start', 'reasoning-delta', 'reasoning-end'] as const),
    ...(['tool-input-start', 'tool-input-delta', 'tool-input-delta', 'tool-input-available'] as const),
    ...(['tool-input-error', 'tool-output-available', 'tool-output-available', 'tool-output-error'] as const),
    ...(['tool-approval-request', 'tool-approval-response', 'tool-output-denied'] as const),
    ...(['source', 'file', 'data', 'silent'] as const),
  ),
  pick: fc.nat(),
  flag: fc.boolean(),
  text: fc.string({ maxLength: 8 }),
  value: fc.jsonValue({ maxDepth: 2 }),
  provider: fc.constantFrom({}, {}, { providerMetadata: { p: { a: 1 } } }, { providerMetadata: { p: { b: 'x' } } }),
});

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

interface Call {
  toolCallId: string;
  toolName: string;
  dynamic?: true;
  /** What is left to stream of the input. */
  json: string;
  approvalId?: string;
}

/** Turns operations into a sequence of chunks that a client accepts, all of one message or of several in turn. */
export function toChunks(operations: readonly Operation[], messageId?: string): UIMessageChunk[] {
  return new Sequence(messageId).from(operations);
}

class Sequence {
  private readonly chunks: UIMessageChunk[] = [];
  private texts: string[] = [];
  private reasonings: string[] = [];
  private inputs: Call[] = [];
  /** Calls of the current step, and those of earlier steps. */
  private calls: Call[] = [];
  private earlierCalls: Call[] = [];
  private next = 0;

  constructor(private readonly messageId?: string) {}

  from(operations: readonly Operation[]): UIMessageChunk[] {
    for (const next of operations) this.chunks.push(...this.toChunk(next));
    return this.chunks;
  }

  private toChunk({ kind, pick, flag, text, value, provider }: Operation): UIMessageChunk[] {
    const id = `${kind}-${(this.next += 1)}`;
    const choose = <T>(list: readonly T[]): T[] => list.slice(pick % (list.length || 1)).slice(0, 1);
    const input = { ...(typeof value === 'object' && value), text };

    switch (kind) {
      case 'start': {
        const messageId = this.messageId ?? (flag ? `message-${pick % 3}` : undefined);
        if (messageId !== this.messageId) this.forget();
        return [{ type: 'start', ...(messageId && { messageId }), messageMetadata: { [text]: value, nested: input } }];
      }
      case 'message-metadata':
        return [{ type: flag ? 'message-metadata' : 'finish', messageMetadata: { nested: { [text]: value } } }];
      case 'start-step':
        if (this.inputs.length > 0) return [];
        this.earlierCalls.push(...this.calls.splice(0));
        return [{ type: 'start-step' }];
      case 'reset-step':
        this.texts = [];
        this.reasonings = [];
        this.inputs = [];
        this.calls = [];
        return [{ type: 'reset-step' }];

      case 'text-start':
        this.texts.push(id);
        return [{ type: 'text-start', id, ...provider }];
      case 'text-delta':
        return choose(this.texts).map((id) => ({ type: 'text-delta', id, delta: text, ...provider }));
      case 'text-end': {
        const ended = choose(this.texts);
        this.texts = this.texts.filter((id) => !ended.includes(id));
        return ended.map((id) => ({ type: 'text-end', id, ...provider }));
      }
      case 'reasoning-start':
        this.reasonings.push(id);
        return [{ type: 'reasoning-start', id, ...provider }];
      case 'reasoning-delta':
        return choose(this.reasonings).map((id) => ({ type: 'reasoning-delta', id, delta: text, ...provider }));
      case 'reasoning-end': {
        const ended = choose(this.reasonings);
        this.reasonings = this.reasonings.filter((id) => !ended.includes(id));
        return ended.map((id) => ({ type: 'reasoning-end', id, ...provider }));
      }

      case 'tool-input-start': {
        const call = { ...this.call(id, flag), json: JSON.stringify(input).replaceAll('e+', 'e') };
        this.inputs.push(call);
        const { json: _, ...named } = call;
        const title = pick % 2 ? { title: text, providerExecuted: true } : { toolMetadata: { from: text } };
        return [{ type: kind, ...named, ...title, ...(pick % 5 ? {} : { inputEncoding: 'text' }), ...provider }];
      }
      case 'tool-input-delta':
        return choose(this.inputs).map((call) => {
          const length = 1 + (pick % 9);
          const inputTextDelta = call.json.slice(0, length);
          call.json = call.json.slice(length);
          return { type: 'tool-input-delta', toolCallId: call.toolCallId, inputTextDelta };
        });
      case 'tool-input-available':
      case 'tool-input-error': {
        const call = choose(this.inputs)[0] ?? { ...this.call(id, flag), json: '' };
        this.inputs = this.inputs.filter((other) => other !== call);
        const { json: _, ...named } = call;
        if (kind === 'tool-input-error') {
          return [{ type: kind, ...named, input: value, errorText: text, ...(flag && { title: text }), ...provider }];
        }
        this.calls.push(call);
        return [{ type: kind, ...named, input, ...provider }];
      }
      case 'tool-output-available':
        return choose(this.allCalls()).map(({ toolCallId, dynamic }) => ({
          type: 'tool-output-available',
          toolCallId,
          output: value,
          ...(dynamic && { dynamic }),
          ...(flag && { preliminary: true }),
          ...provider,
        }));
      case 'tool-output-error':
        return choose([...this.allCalls(), ...this.inputs]).map((call) => {
          this.inputs = this.inputs.filter((other) => other !== call);
          return { type: 'tool-output-error', toolCallId: call.toolCallId, errorText: text, ...provider };
        });
      case 'tool-output-denied':
        return choose(this.allCalls()).map(({ toolCallId }) => ({ type: 'tool-output-denied', toolCallId }));
      case 'tool-approval-request':
        return choose(this.allCalls()).map((call) => {
          call.approvalId = id;
          const reason = flag ? { reason: text, isAutomatic: flag } : { inputSchemaInput: value, signature: text };
          return { type: 'tool-approval-request', approvalId: id, toolCallId: call.toolCallId, ...reason };
        });
      case 'tool-approval-response':
        return choose(this.allCalls().flatMap((call) => call.approvalId ?? [])).map((approvalId) => ({
          type: 'tool-approval-response',
          approvalId,
          approved: flag,
          ...(pick % 2 && { reason: text }),
          ...provider,
        }));

      case 'source':
        return flag
          ? [{ type: 'source-url', sourceId: id, url: text, ...provider }]
          : [{ type: 'source-document', sourceId: id, mediaType: 'text/plain', title: text, ...provider }];
      case 'file':
        return flag
          ? [{ type: pick % 2 ? 'file' : 'reasoning-file', url: text, mediaType: 'image/png', ...provider }]
          : [{ type: 'custom', kind: 'fake.thing', ...provider }];
      case 'data':
        return [
          {
            type: pick % 2 ? 'data-note' : 'data-state',
            data: value,
            ...(flag && { id: `data-${pick % 3}` }),
            ...(pick % 7 === 0 && { transient: true }),
          },
        ];
      case 'silent':
        return choose<UIMessageChunk>([
          { type: 'finish-step' },
          { type: 'error', errorText: text },
          { type: 'abort', reason: text },
          { type: 'finish', finishReason: 'stop' },
          { type: 'steering-message', id, parts: [{ type: 'text', text }] },
        ]);
    }
  }

  private call(toolCallId: string, dynamic: boolean): Omit<Call, 'json'> {
    return { toolCallId, toolName: dynamic ? 'search' : 'get-time', ...(dynamic && { dynamic }) };
  }

  private allCalls(): Call[] {
    return [...this.calls, ...this.earlierCalls];
  }

  /** Another message begins. */
  private forget(): void {
    this.texts = [];
    this.reasonings = [];
    this.inputs = [];
    this.calls = [];
    this.earlierCalls = [];
  }
}
