/**
 * Loaded before the program that is measured: SIGUSR2 makes it collect its garbage and write down what is left, so that its
 * memory can be compared before and after without what is only waiting to be collected. Needs `--expose-gc`.
 */
import { writeFileSync } from 'node:fs';
import { memoryFile } from './memory-file.mjs';

process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  writeFileSync(memoryFile(process.pid), JSON.stringify(process.memoryUsage()), { mode: 0o600 });
});
