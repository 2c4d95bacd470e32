import { postJson } from './http-client.mjs';

const HOUR_MS = 3_600_000;
const PAGE = { limit: 50, count_limit: 10_000 };
const FEW = { ...PAGE, limit: 5 };
const ONE = { limit: 1, count_limit: 1 };
const BY_TITLE = [{ field: ['title'], direction: 'asc' }];
const NEWEST = [{ field: ['created_at'], direction: 'desc' }];

const is = (field, value) => ({ field: [field], operator: 'eq', value });
const contains = (field, value) => ({ field: [field], operator: 'contains', value });
const ago = (hours) => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - hours * HOUR_MS).toISOString();
const connections = (request) => ['COLLECTION_CONNECTIONS_LIST', { ...PAGE, ...request }];
const agents = (request) => ['COLLECTION_VIRTUAL_MCP_LIST', { ...PAGE, ...request }];
const NO_AGENTS = { operator: 'not', conditions: [is('connection_type', 'VIRTUAL')] };

/**
 * What the views of the console and its search ask the management tools for when they open, at the same time: names of
 * tools with their input. What a view asks for the rows of its list, such as their calls, is left out.
 */
const VIEWS = {
  Overview: () => [
    ['MONITORING_STATS', { from: ago(24), include_management: false, over_time: true }],
    ['MONITORING_STATS', { from: ago(48), to: ago(24), include_management: false }],
    ['RUN_STATS', { from: ago(24) }],
    ['USAGE_STATS', { by: 'day', from: ago(720) }],
    ['RUN_LIST', { ...FEW, where: is('status', 'waiting') }],
    ['RUN_LIST', { ...FEW, where: is('status', 'failed') }],
    ['COLLECTION_CONNECTIONS_LIST', { ...FEW, where: is('status', 'error') }],
    ['COLLECTION_CONNECTIONS_LIST', ONE],
    ['COLLECTION_VIRTUAL_MCP_LIST', ONE],
    ['COLLECTION_THREADS_LIST', ONE],
  ],
  Playground: () => [
    ['COLLECTION_VIRTUAL_MCP_LIST', { ...PAGE, limit: 2 }],
    ['MODEL_TIERS_GET', {}],
    ['COLLECTION_THREADS_LIST', { ...FEW, orderBy: [{ field: ['updated_at'], direction: 'desc' }] }],
  ],
  Threads: () => [
    ['COLLECTION_THREADS_LIST', { ...PAGE, orderBy: NEWEST }],
    ['THREAD_STATS', { from: ago(168) }],
  ],
  Runs: () => [
    ['RUN_LIST', { ...PAGE, orderBy: NEWEST }],
    ['RUN_STATS', { from: ago(168) }],
  ],
  Connections: () => [connections({ where: NO_AGENTS, orderBy: BY_TITLE })],
  'Connections: search': () => [
    connections({
      where: { operator: 'and', conditions: [NO_AGENTS, contains('title', 'er 4')] },
      orderBy: BY_TITLE,
    }),
  ],
  Agents: () => [agents({ orderBy: BY_TITLE })],
  'Agents: search': () => [agents({ where: contains('title', 'ent 4'), orderBy: BY_TITLE })],
  Keys: () => [['API_KEY_LIST', PAGE]],
  Monitoring: () => [['MONITORING_LOGS_LIST', PAGE]],
  'Monitoring: statistics': () => [['MONITORING_STATS', { from: ago(24), over_time: true }]],
  'Monitoring: events': () => [['AUDIT_EVENTS_LIST', PAGE]],
  'Access: graph': () => [['ACCESS_GRAPH', { from: ago(24) }]],
  Settings: () => [
    ['ORGANIZATION_GET', {}],
    ['MEMBER_LIST', PAGE],
    ['ROLE_LIST', {}],
    ['SCHEDULE_LIST', PAGE],
    ['WEBHOOK_LIST', PAGE],
  ],
  'Command palette': () => [
    agents({ limit: 5, where: contains('title', 'ool') }),
    connections({ limit: 5, where: { operator: 'and', conditions: [contains('title', 'ool'), NO_AGENTS] } }),
    ['ACCESS_TOOLS_LIST', { search: 'ool', limit: 5 }],
    ['API_KEY_LIST', { ...FEW, where: contains('name', 'ool') }],
  ],
};

/** The names of the views. */
export const VIEW_NAMES = Object.keys(VIEWS);

/**
 * Sends the requests of a view, as its page does.
 * @param {{ api: string, headers: Record<string, string> }} service `api`: the URL of the organization
 * @returns the milliseconds until all were answered
 */
export async function timeView({ api, headers }, name) {
  const start = performance.now();
  await Promise.all(VIEWS[name]().map(([tool, input]) => postJson(`${api}/tools/${tool}`, headers, input)));
  return performance.now() - start;
}
