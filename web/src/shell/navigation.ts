import {
  Bot,
  ChartLine,
  Gauge,
  KeyRound,
  ListTree,
  MessageSquare,
  MessagesSquare,
  Plug,
  Settings,
  Waypoints,
} from 'lucide-react';

/**
 * The views, in the order of the navigation. `path` follows `/console/<organization>/`; `key` goes to the view after a
 * `g`.
 */
export const VIEWS = [
  { path: 'overview', title: 'Overview', icon: Gauge, key: 'o' },
  { path: 'playground', title: 'Playground', icon: MessageSquare, key: 'p' },
  { path: 'threads', title: 'Threads', icon: MessagesSquare, key: 't' },
  { path: 'runs', title: 'Runs', icon: ListTree, key: 'r' },
  { path: 'connections', title: 'Connections', icon: Plug, key: 'c' },
  { path: 'agents', title: 'Agents', icon: Bot, key: 'a' },
  { path: 'keys', title: 'Keys', icon: KeyRound, key: 'k' },
  { path: 'access', title: 'Access', icon: Waypoints, key: 'x' },
  { path: 'monitoring', title: 'Monitoring', icon: ChartLine, key: 'm' },
  { path: 'settings', title: 'Settings', icon: Settings, key: 's' },
] as const;

/** The parts of the settings. Each is of use with at least one of these permissions. */
export const SETTINGS = [
  { id: 'models', title: 'Models', needs: ['AI_PROVIDER_LIST', 'MODEL_TIERS_GET'] },
  { id: 'members', title: 'Members', needs: ['MEMBER_LIST'] },
  { id: 'roles', title: 'Roles', needs: ['ROLE_LIST'] },
  { id: 'organization', title: 'Organization', needs: ['ORGANIZATION_GET', 'AUDIT_SETTINGS_GET'] },
  { id: 'limits', title: 'Limits and retention', needs: ['ORGANIZATION_GET'] },
  { id: 'files', title: 'Files', needs: ['FILE_LIST'] },
  { id: 'webhooks', title: 'Webhooks', needs: ['WEBHOOK_LIST'] },
  { id: 'schedules', title: 'Schedules', needs: ['SCHEDULE_LIST'] },
  { id: 'oauth', title: 'OAuth', needs: ['OAUTH_CLIENT_LIST', 'OAUTH_GRANT_LIST'] },
] as const;

/** A place in the console: a path behind the organization, and the search of its address. */
export interface Place {
  readonly path: string;
  readonly search?: Readonly<Record<string, string>>;
}

/** What can be created, and where. */
export const CREATE: readonly (Place & { readonly title: string; readonly needs: string })[] = [
  { title: 'Create thread: a new chat', path: 'playground', needs: 'COLLECTION_THREADS_CREATE' },
  { title: 'Create agent', path: 'agents/new', needs: 'COLLECTION_VIRTUAL_MCP_CREATE' },
  {
    title: 'Create connection',
    path: 'connections',
    search: { create: 'http' },
    needs: 'COLLECTION_CONNECTIONS_CREATE',
  },
  { title: 'Create key', path: 'keys', search: { create: '1' }, needs: 'API_KEY_CREATE' },
  { title: 'Create schedule', path: 'settings/schedules', search: { edit: 'new' }, needs: 'SCHEDULE_CREATE' },
  { title: 'Create webhook', path: 'settings/webhooks', search: { edit: 'new' }, needs: 'WEBHOOK_CREATE' },
  { title: 'Create role', path: 'settings/roles', search: { edit: 'new' }, needs: 'ROLE_CREATE' },
  { title: 'Create AI provider', path: 'settings/models', search: { edit: 'new' }, needs: 'AI_PROVIDER_CREATE' },
];
