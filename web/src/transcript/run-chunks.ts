import type { UIMessageChunk } from 'ai';
import type { Signalbox } from '../../../packages/client/src/signalbox.js';
import { inTurn, type Pool, USED } from '../api/in-turn.js';
import { type Pause, Turns } from '../api/turns.js';

/** Of all streams of runs that the tabs of a browser want to read, so many are open. */
const STREAMS: Pool = { name: 'run streams', places: 2, claims: USED };
/** A chat can have more columns than the browser opens streams. */
const TURNS = new Turns(STREAMS.places, (signal, work) => inTurn(STREAMS, signal, work));

interface RunChunksOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called when other streams are read instead of this one, and with undefined when it goes on. */
  readonly onPaused?: ((why: Pause | undefined) => void) | undefined;
}

/**
 * The answer of a run from its beginning, as it is written. The stream pauses while other tabs have all places, or
 * other streams of the page have their turn, and goes on after its last chunk.
 * @throws SignalboxError `stream_expired` if the run ended long before the stream could go on
 */
export function runChunks(
  client: Signalbox,
  { threadId, taskId }: { readonly threadId: string; readonly taskId: string },
  { signal, onPaused }: RunChunksOptions = {},
): ReadableStream<UIMessageChunk> {
  const cancelling = new AbortController();
  const ends = AbortSignal.any([cancelling.signal, ...(signal === undefined ? [] : [signal])]);
  return new ReadableStream({
    start(controller) {
      let lastEventId: string | undefined;
      const read = async (turn: AbortSignal): Promise<void> => {
        const stream = await client.watch(threadId, { taskId, lastEventId, signal: turn });
        for await (const chunk of stream) {
          lastEventId = stream.lastEventId;
          controller.enqueue(chunk as unknown as UIMessageChunk);
        }
      };
      TURNS.take({ read, onPaused: (why) => !ends.aborted && onPaused?.(why) }, ends)
        .then(() => (ends.aborted ? controller.error(ends.reason) : controller.close()))
        .catch((error: unknown) => controller.error(error));
    },
    cancel: () => cancelling.abort(),
  });
}
