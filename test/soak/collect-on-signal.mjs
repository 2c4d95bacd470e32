/**
 * Preloaded into the service. On SIGUSR2, it collects garbage and writes what the process still holds to a file.
 * Requires `--expose-gc`.
 */
import { EventEmitter } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { holdingsFile } from './holdings-file.mjs';

const countListeners = (emitter) =>
  emitter instanceof EventEmitter
    ? emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
    : 0;

if (isMainThread) {
  process.on('SIGUSR2', () => {
    globalThis.gc();
    globalThis.gc();
    const { heapUsed, external } = process.memoryUsage();
    const handles = process._getActiveHandles();
    const file = holdingsFile(process.pid);
    const listeners = [process, ...handles].reduce((sum, emitter) => sum + countListeners(emitter), 0);
    const holdings = { heapBytes: heapUsed + external, resources: process.getActiveResourcesInfo().length, listeners };
    writeFileSync(`${file}.new`, JSON.stringify(holdings), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  });
}
