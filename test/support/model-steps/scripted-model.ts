import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** What a scripted model does instead of sending a part. */
export type Incident =
  | { does: 'break'; error: unknown }
  /** Sends nothing more, whatever its signal says. */
  | { does: 'hang' }
  | { does: 'abort' };

/** One call of the model: what it streams, or how it refuses the call. */
export type ScriptedCall = readonly (LanguageModelV4StreamPart | Incident)[] | { refuses: unknown } | 'hangs';

export interface ScriptedModel {
  readonly model: LanguageModelV4;
  /** What the calls were made with. */
  readonly sent: LanguageModelV4CallOptions[];
  /** The streams that hang, and that nobody has given up. */
  readonly leftOpen: ReadonlySet<unknown>;
}

/** Turns of the event loop between two parts: whatever lies between the model and the answer has passed a part on. */
const TURNS_BETWEEN_PARTS = 12;

/**
 * A model in this process that answers its calls as scripted.
 * @param abort what the script means by `abort`
 */
export function scriptedModel(
  calls: readonly ScriptedCall[],
  abort: () => void,
  supportedUrls: Record<string, RegExp[]> = {},
): ScriptedModel {
  const sent: LanguageModelV4CallOptions[] = [];
  const leftOpen = new Set<unknown>();
  const doStream: LanguageModelV4['doStream'] = async (options) => {
    const call = calls[sent.length];
    sent.push(options);
    if (call === undefined) throw new Error('The script has no such call.');
    if (call === 'hangs') {
      abort();
      return new Promise(() => undefined);
    }
    if ('refuses' in call) throw call.refuses;
    return { stream: streamOf(call, abort, leftOpen) };
  };
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'scripted.chat',
    modelId: 'scripted',
    supportedUrls,
    doStream,
    doGenerate: () => Promise.reject(new Error('A run streams.')),
  };
  return { model, sent, leftOpen };
}

function streamOf(
  script: readonly (LanguageModelV4StreamPart | Incident)[],
  abort: () => void,
  leftOpen: Set<unknown>,
): ReadableStream<LanguageModelV4StreamPart> {
  const left = [...script];
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        for (let turn = 0; turn < TURNS_BETWEEN_PARTS; turn++) await nextTurn();
        const next = left.shift();
        if (next === undefined) return controller.close();
        if ('type' in next) return controller.enqueue(next);
        if (next.does === 'break') throw next.error;
        leftOpen.add(script);
        if (next.does === 'abort') abort();
        await new Promise(() => undefined);
      },
      cancel: () => void leftOpen.delete(script),
    },
    { highWaterMark: 0 },
  );
}
