import type { PermissionMap } from '../session/session.js';

/** Something that a holder of permissions can do, in words, and the names in the list `self` that it takes. */
export interface Ability {
  /** Completes "The key can …". */
  readonly words: string;
  readonly names: readonly string[];
  /** What somebody who grants it should know. */
  readonly caution?: string;
}

export interface AbilityGroup {
  readonly title: string;
  readonly abilities: readonly Ability[];
}

/** Every permission of management tools, grouped by what it is about. */
export const ABILITY_GROUPS: readonly AbilityGroup[] = [
  {
    title: 'Threads',
    abilities: [
      { words: 'start threads', names: ['COLLECTION_THREADS_CREATE'] },
      {
        words: 'read threads, their messages and their status',
        names: ['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST', 'COLLECTION_THREAD_MESSAGES_LIST'],
      },
      { words: 'rename and copy threads', names: ['COLLECTION_THREADS_UPDATE', 'THREAD_COPY'] },
      { words: 'delete threads', names: ['COLLECTION_THREADS_DELETE'] },
      {
        words: 'hand out short-lived tokens of a thread to browsers',
        names: ['THREAD_TOKEN_CREATE'],
      },
    ],
  },
  {
    title: 'Files',
    abilities: [
      { words: 'upload files', names: ['FILE_CREATE'] },
      { words: 'list files and read them', names: ['FILE_GET', 'FILE_LIST'] },
      { words: 'delete files', names: ['FILE_DELETE'] },
    ],
  },
  {
    title: 'Runs',
    abilities: [
      { words: 'look at runs', names: ['RUN_GET', 'RUN_LIST'] },
      {
        words: 'read what models were sent and answered, where it is recorded',
        names: ['RUN_MODEL_CALL_GET'],
        caution: 'That includes the instructions of agents. It also takes the permission to read messages.',
      },
      { words: 'cancel runs', names: ['RUN_CANCEL'] },
      {
        words: 'approve and deny tool calls of agents',
        names: ['RUN_APPROVE'],
        caution: 'A program with this permission can approve what it has asked for itself.',
      },
    ],
  },
  {
    title: 'Agents',
    abilities: [
      { words: 'look at agents', names: ['COLLECTION_VIRTUAL_MCP_GET', 'COLLECTION_VIRTUAL_MCP_LIST'] },
      {
        words: 'create and change agents',
        names: ['COLLECTION_VIRTUAL_MCP_CREATE', 'COLLECTION_VIRTUAL_MCP_UPDATE'],
      },
      { words: 'look at earlier versions of agents', names: ['AGENT_VERSIONS_LIST', 'AGENT_VERSION_GET'] },
      { words: 'take agents back to earlier versions', names: ['AGENT_VERSION_RESTORE'] },
      { words: 'delete agents', names: ['COLLECTION_VIRTUAL_MCP_DELETE'] },
    ],
  },
  {
    title: 'Connections',
    abilities: [
      { words: 'look at connections', names: ['COLLECTION_CONNECTIONS_GET', 'COLLECTION_CONNECTIONS_LIST'] },
      {
        words: 'create, import, change and test connections',
        names: [
          'COLLECTION_CONNECTIONS_CREATE',
          'COLLECTION_CONNECTIONS_UPDATE',
          'CONNECTION_IMPORT',
          'CONNECTION_TEST',
        ],
      },
      { words: 'see what has changed in the tools of connections', names: ['CONNECTION_TOOLS_DIFF'] },
      { words: 'approve changed tools of connections', names: ['CONNECTION_TOOLS_APPROVE'] },
      { words: 'delete connections', names: ['COLLECTION_CONNECTIONS_DELETE'] },
      {
        words: 'log in to the shared account of a connection and log out',
        names: ['CONNECTION_AUTHORIZE', 'CONNECTION_DEAUTHORIZE'],
      },
      {
        words: 'make connections that run programs on the server',
        names: ['CONNECTION_STDIO'],
        caution: 'Such a program is code on the server of this service.',
      },
    ],
  },
  {
    title: 'Monitoring',
    abilities: [
      {
        words: 'read the record of tool calls, and statistics',
        names: ['MONITORING_LOGS_LIST', 'MONITORING_STATS', 'RUN_STATS', 'THREAD_STATS', 'USAGE_STATS'],
      },
      { words: 'export the records of calls and events', names: ['MONITORING_EXPORT'] },
      { words: 'read audit events', names: ['AUDIT_EVENTS_LIST'] },
      {
        words: 'see who can call which tool',
        names: ['ACCESS_GRAPH', 'ACCESS_OF_CALLER', 'ACCESS_TO_TOOL', 'ACCESS_TOOLS_LIST'],
        caution: 'This names every key and person of the organization.',
      },
    ],
  },
  {
    title: 'Schedules',
    abilities: [
      { words: 'look at schedules', names: ['SCHEDULE_GET', 'SCHEDULE_LIST'] },
      { words: 'create, change and start schedules', names: ['SCHEDULE_CREATE', 'SCHEDULE_UPDATE', 'SCHEDULE_RUN'] },
      { words: 'delete schedules', names: ['SCHEDULE_DELETE'] },
    ],
  },
  {
    title: 'Webhooks',
    abilities: [
      { words: 'look at webhooks and their deliveries', names: ['WEBHOOK_LIST', 'WEBHOOK_DELIVERIES_LIST'] },
      {
        words: 'create, change and test webhooks, and deliver again',
        names: ['WEBHOOK_CREATE', 'WEBHOOK_UPDATE', 'WEBHOOK_ROTATE', 'WEBHOOK_TEST', 'WEBHOOK_REDELIVER'],
      },
      { words: 'delete webhooks', names: ['WEBHOOK_DELETE'] },
    ],
  },
  {
    title: 'Models',
    abilities: [
      { words: 'look at AI providers and tiers', names: ['AI_PROVIDER_LIST', 'MODEL_TIERS_GET'] },
      {
        words: 'change AI providers and tiers, and test them',
        names: [
          'AI_PROVIDER_CREATE',
          'AI_PROVIDER_UPDATE',
          'AI_PROVIDER_DELETE',
          'AI_PROVIDER_TEST',
          'AI_PROVIDER_MODELS',
          'MODEL_TIERS_SET',
        ],
      },
    ],
  },
  {
    title: 'API keys',
    abilities: [
      { words: 'look at API keys (never their values)', names: ['API_KEY_LIST'] },
      {
        words: 'create and change API keys',
        names: ['API_KEY_CREATE', 'API_KEY_UPDATE'],
        caution: 'A key never gives away more than its maker holds.',
      },
      { words: 'delete API keys', names: ['API_KEY_DELETE'] },
    ],
  },
  {
    title: 'People and roles',
    abilities: [
      { words: 'look at members', names: ['MEMBER_LIST'] },
      {
        words: 'invite, change and remove members, and reset passwords',
        names: ['MEMBER_INVITE', 'MEMBER_UPDATE', 'MEMBER_REMOVE', 'MEMBER_RESET'],
      },
      { words: 'look at roles', names: ['ROLE_LIST'] },
      { words: 'create, change and delete roles', names: ['ROLE_CREATE', 'ROLE_UPDATE', 'ROLE_DELETE'] },
    ],
  },
  {
    title: 'Organization',
    abilities: [
      { words: 'look at the organization’s settings', names: ['ORGANIZATION_GET', 'AUDIT_SETTINGS_GET'] },
      {
        words: 'change the organization’s settings',
        names: ['ORGANIZATION_UPDATE', 'AUDIT_SETTINGS_UPDATE'],
      },
      { words: 'look at OAuth clients and sign-ins', names: ['OAUTH_CLIENT_LIST', 'OAUTH_GRANT_LIST'] },
      {
        words: 'set up and delete OAuth clients, and end sign-ins',
        names: ['OAUTH_CLIENT_CREATE', 'OAUTH_CLIENT_DELETE', 'OAUTH_GRANT_REVOKE'],
      },
    ],
  },
];

const KNOWN = new Set(ABILITY_GROUPS.flatMap(({ abilities }) => abilities.flatMap(({ names }) => names)));

/** Names in `self` that no ability has: of a later version of the service. */
export function unknownNames(permissions: PermissionMap): readonly string[] {
  return (permissions['self'] ?? []).filter((name) => name !== '*' && !KNOWN.has(name));
}
