/**
 * Preloaded into the measured program. On SIGUSR2, it collects garbage and writes the remaining memory usage to a file,
 * so that comparisons do not include uncollected garbage. Requires `--expose-gc`.
 */
import { writeFileSync } from 'node:fs';
import { memoryFile } from './memory-file.mjs';

process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  writeFileSync(memoryFile(process.pid), JSON.stringify(process.memoryUsage()), { mode: 0o600 });
});
