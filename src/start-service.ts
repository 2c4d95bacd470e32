import type { AppOptions } from './app.module.js';
import type { RunningService } from './boot/running-service.js';
import { readSettings } from './core/config/settings.js';

export type { RunningService };

/**
 * Starts the service as the environment configures it: in this process, or with `PROCESSES` in several processes that
 * this one starts and watches; each of them calls this function again. Registers the OpenTelemetry providers globally,
 * so start one service per process.
 * @param options.modules modules of an extending team, in addition to those of `AppModule`
 */
export async function startService(
  env: NodeJS.ProcessEnv,
  options: Pick<AppOptions, 'modules'> = {},
): Promise<RunningService> {
  const settings = readSettings(env);
  if (settings.processes === 1) {
    const { startSingleProcess } = await import('./boot/single-process.js');
    return startSingleProcess(settings, options);
  }
  const { default: cluster } = await import('node:cluster');
  if (cluster.isPrimary) {
    const { startSupervisor } = await import('./boot/processes/supervisor.js');
    return startSupervisor(settings);
  }
  const { startServiceProcess } = await import('./boot/processes/service-process.js');
  return startServiceProcess(settings, options);
}
