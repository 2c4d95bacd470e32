import type { ProxyCaller } from '../protocol/proxy-caller.js';
import type { CallerFilter } from './relay/tool-list-filter.js';
import type { TaskOwners } from './tasks/task-owners.js';

/** The filter on what the caller sees of an upstream's messages; undefined for a caller with `*`, whose messages pass unread. */
export function callerFilter(caller: ProxyCaller, tasks: TaskOwners): CallerFilter | undefined {
  if (caller.holdsAll) return undefined;
  return { shows: (tool) => caller.sees(tool), ownsTask: (taskId) => tasks.ownsTask(caller, taskId) };
}
