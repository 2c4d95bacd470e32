import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a measured program leaves its memory figures. */
export function memoryFile(pid) {
  return join(tmpdir(), `signalbox-bench-memory-${pid}.json`);
}
