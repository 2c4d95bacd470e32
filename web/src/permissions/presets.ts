import type { PermissionMap } from '../session/session.js';

/** Permissions for a usual purpose of a key. */
interface Preset {
  readonly id: string;
  readonly title: string;
  readonly purpose: string;
  /** Whether the purpose is about one agent; `true` only where running agents has to be granted. */
  readonly needsAgent: 'always' | 'if runs are granted' | 'never';
  readonly permissions: (agentId: string | undefined) => PermissionMap;
}

export const PRESETS: readonly Preset[] = [
  {
    id: 'chatbot',
    title: 'Chatbot backend',
    purpose: 'Your server starts threads, sends messages to an agent, streams the answers and reads them again later.',
    needsAgent: 'if runs are granted',
    permissions: (agentId) => ({
      self: [
        'COLLECTION_THREADS_CREATE',
        'COLLECTION_THREADS_GET',
        'COLLECTION_THREAD_MESSAGES_LIST',
        'COLLECTION_THREADS_LIST',
      ],
      // With `run_access: granted`, a run needs a grant on the agent; its tools are called by the agent and not by the
      // key.
      ...(agentId && { [agentId]: ['*'] }),
    }),
  },
  {
    id: 'mcp',
    title: 'MCP client of one agent',
    purpose: 'An editor, a desktop app or another agent calls the tools of one agent through MCP.',
    needsAgent: 'always',
    permissions: (agentId): PermissionMap => (agentId ? { [agentId]: ['*'] } : {}),
  },
  {
    id: 'monitoring',
    title: 'Read-only monitoring',
    purpose: 'A dashboard or an auditor reads calls, runs, statistics and audit events, and changes nothing.',
    needsAgent: 'never',
    permissions: () => ({
      self: [
        'MONITORING_LOGS_LIST',
        'MONITORING_STATS',
        'RUN_STATS',
        'THREAD_STATS',
        'USAGE_STATS',
        'AUDIT_EVENTS_LIST',
        'RUN_LIST',
        'RUN_GET',
        'COLLECTION_CONNECTIONS_LIST',
        'COLLECTION_VIRTUAL_MCP_LIST',
      ],
    }),
  },
  {
    id: 'custom',
    title: 'Something else',
    purpose: 'Start with nothing and choose each permission.',
    needsAgent: 'never',
    permissions: () => ({}),
  },
];
