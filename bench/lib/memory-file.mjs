import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The file that a measured program writes its memory usage to. */
export function memoryFile(pid) {
  return join(tmpdir(), `signalbox-bench-memory-${pid}.json`);
}
