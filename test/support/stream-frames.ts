import type { UIMessageChunk } from 'ai';
import type { CollectedStream, StreamFrame } from './agent-runs.js';

/** The frames of one run out of a stream that goes on afterwards. */
export async function framesUntilDone(frames: AsyncIterator<StreamFrame>): Promise<CollectedStream> {
  const ids: string[] = [];
  const chunks: UIMessageChunk[] = [];
  for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
    const { id, data } = next.value;
    if (data === '[DONE]') return { ids, chunks };
    ids.push(id ?? '');
    chunks.push(JSON.parse(data) as UIMessageChunk);
  }
  throw new Error(`The stream ended after ${chunks.length} chunks without [DONE].`);
}
