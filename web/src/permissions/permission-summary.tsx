import type { PermissionMap } from '../session/session.js';
import { Badge } from '../ui/badge.js';
import { ANY, resourcesOf, SELF, toolsOf } from './permission-map.js';

/** A map of permissions in a few words, for a row of a table. */
export function PermissionSummary({ permissions }: { readonly permissions: PermissionMap }) {
  const self = toolsOf(permissions, SELF);
  const resources = resourcesOf(permissions).filter((id) => toolsOf(permissions, id).length > 0).length;
  const words = [
    self.includes(ANY) ? 'all of management' : self.length > 0 && counted(self.length, 'management tool'),
    toolsOf(permissions, ANY).includes(ANY)
      ? 'all tools'
      : resources > 0 && `tools of ${counted(resources, 'connection or agent', 'connections or agents')}`,
  ].filter((word) => word !== false);
  const isEverything = self.includes(ANY) && toolsOf(permissions, ANY).includes(ANY);
  if (isEverything) return <Badge tone="warning">everything</Badge>;
  return <>{words.length === 0 ? 'nothing by itself' : words.join(', ')}</>;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
