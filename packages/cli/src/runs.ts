import type { Command } from 'commander';
import { serviceCommand, serviceOf } from './service.js';
import { printable, say, table, time } from './terminal.js';

const PAUSE_MS = 1_000;

interface ListOptions {
  readonly status?: string;
  readonly limit: string;
}

export function runsCommand(): Command {
  return serviceCommand('runs')
    .description('list the latest runs')
    .option('--status <status>', 'only these: queued, running, completed, failed, cancelled')
    .option('--limit <count>', 'how many', '20')
    .action(async ({ status, limit }: ListOptions, command: Command) => {
      const { items } = await serviceOf(command).signalbox.tool('RUN_LIST', {
        limit: Number(limit),
        ...(status === undefined ? {} : { where: { field: ['status'], operator: 'eq', value: status } }),
      });
      table(
        ['TIME', 'RUN', 'THREAD', 'STATUS', 'MODEL', 'TOKENS', 'ERROR'],
        items.map((run) => [
          time(run.created_at),
          run.id,
          run.thread_id,
          run.status,
          run.model,
          run.usage?.totalTokens,
          run.error === null || run.error === undefined ? '' : `${run.error.code}: ${run.error.message}`,
        ]),
      );
    });
}

export function logsCommand(): Command {
  return serviceCommand('logs')
    .description('list the latest tool calls, from whatever endpoint')
    .option('--run <taskId>', 'only those of this run')
    .option('--status <status>', 'only these: success, error, denied')
    .option('--limit <count>', 'how many', '20')
    .option('-f, --follow', 'continue with new calls')
    .action(async (options: ListOptions & { run?: string; follow?: boolean }, command: Command) => {
      const { signalbox } = serviceOf(command);
      const seen = new Set<string>();
      do {
        const { items } = await signalbox.tool('MONITORING_LOGS_LIST', {
          limit: Number(options.limit),
          ...whereOf({ run_id: options.run, status: options.status }),
        });
        for (const call of items.toReversed().filter(({ id }) => !seen.has(id))) {
          seen.add(call.id);
          const who = call.user_email ?? call.key_name ?? '';
          const where = call.connection_title ?? call.door;
          const outcome = call.error_code ?? call.status;
          const line = [time(call.at), outcome, `${call.duration_ms.toFixed(0)} ms`, where, call.tool_name, who];
          say(printable(line.join('  ').trimEnd()));
        }
        if (options.follow) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      } while (options.follow);
    });
}

/** A filter of the fields that have a value. */
function whereOf(fields: Record<string, string | undefined>): { where?: Record<string, unknown> } {
  const conditions = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => ({ field: [field], operator: 'eq', value }));
  if (conditions.length === 0) return {};
  return { where: conditions.length === 1 ? conditions[0]! : { operator: 'and', conditions } };
}
