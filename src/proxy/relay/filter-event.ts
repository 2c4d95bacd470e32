import { dataOf, withData } from '../../upstreams/channel/sse-parts.js';
import { filterToolList, type ToolListFilter } from './tool-list-filter.js';

/** The event with what the caller may see of a list of tools in it; undefined for one that cannot be judged. */
export function filterEvent(event: Buffer, filter: ToolListFilter): Buffer | undefined {
  const data = dataOf(event);
  if (data === undefined || !data.includes('"tools"')) return event;
  const filtered = filterToolList(data, filter);
  return filtered === undefined ? undefined : withData(event, filtered);
}
