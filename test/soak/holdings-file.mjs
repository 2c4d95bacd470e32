import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The file that the measured service writes what it holds to. */
export function holdingsFile(pid) {
  return join(tmpdir(), `signalbox-soak-${pid}.json`);
}
