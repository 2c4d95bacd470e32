import type { ProxyCaller } from '../protocol/proxy-caller.js';
import type { CallerFilter } from './relay/tool-list-filter.js';
import type { TaskOwners } from './tasks/task-owners.js';

/** What the caller may see of an upstream's messages; undefined for one who may see everything: those messages pass unread. */
export function callerFilter(caller: ProxyCaller, tasks: TaskOwners): CallerFilter | undefined {
  if (caller.holdsAll) return undefined;
  return { shows: (tool) => caller.sees(tool), ownsTask: (taskId) => tasks.owns(caller, taskId) };
}
