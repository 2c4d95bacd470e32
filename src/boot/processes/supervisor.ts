import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../core/config/env-reader.js';
import type { Settings } from '../../core/config/settings.js';
import { endsWithin } from '../../core/with-timeout.js';
import { createLogger } from '../../platform/logging/pino.js';
import { openDatabase } from '../database.js';
import { APPLICATION_WITHIN_MS, type RunningService, STORAGE_WITHIN_MS } from '../running-service.js';
import { ProcessMetrics } from './process-metrics.js';
import { WatchedProcess } from './watched-process.js';

/** A process ends itself within its own limit, with what it does at its exit. */
const PROCESS_WITHIN_MS = APPLICATION_WITHIN_MS + 400;
/** Of the path of a Unix socket, on the systems that have the shortest. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * Starts the service in `PROCESSES` processes that share the port. This process owns the embedded database, accepts
 * connections and hands each to a service process (`node:cluster`), starts a process again that has ended, and serves
 * the metrics of all. It runs nothing of the application.
 */
export async function startSupervisor(settings: Settings): Promise<RunningService> {
  const logger = createLogger(settings.logLevel);
  const folder = await makeSocketFolder(settings.processes);
  const database = await openDatabase(settings, (line) => logger.info(line));
  const metrics = new ProcessMetrics(settings, logger);
  const processes = Array.from(
    { length: settings.processes },
    (_, index) => new WatchedProcess({ number: index + 1, folder }, settings.processes, logger, metrics),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map((one) => one.stop(PROCESS_WITHIN_MS)));
    await metrics.close();
    await endsWithin(database.stop(), STORAGE_WITHIN_MS);
  };
  try {
    const [first] = processes;
    const [url = ''] = await Promise.all(processes.map((one) => one.start(one === first)));
    await metrics.serve(processes);
    await first?.announce();
    for (const one of processes) void one.keepRunning();
    logger.info({ url, processes: processes.map(({ pid }) => pid) }, 'The service is ready in all processes');
    return {
      url,
      stop: async () => {
        await stop();
        logger.info('The service has stopped');
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The folder of the sockets between the processes, which only this user can enter. It is removed when this process
 * exits; a kill or a crash leaves it behind.
 * @throws ConfigError
 */
async function makeSocketFolder(processes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-')).catch((error: Error) => {
    throw new ConfigError(`Cannot create a folder in TMPDIR (${tmpdir()}): ${error.message}`);
  });
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  if (Buffer.byteLength(join(folder, String(processes))) <= MAX_SOCKET_PATH_BYTES) return folder;
  throw new ConfigError(`The path of TMPDIR (${tmpdir()}) is too long for a Unix socket.`);
}
