/**
 * Loaded into the service with `--import`. On SIGUSR2 it collects garbage and prints one line
 * `heap-probe {"usedBytes":…}`: what the process still holds, on the heap of V8 and in buffers outside of it.
 */
import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeSync(1, `\nheap-probe ${JSON.stringify({ usedBytes: heapUsed + external })}\n`);
  });
}
