import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How much more of the heap is in use, in bytes, when `work` is done and garbage is collected. */
export async function keptBytes(work: () => Promise<unknown>): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await work();
  collectGarbage();
  return process.memoryUsage().heapUsed - before;
}
