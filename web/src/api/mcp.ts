import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { type Organization, useOrganization } from '../session/organization.js';
import type { JsonSchema } from './json-schema.js';

/** A tool as its MCP server lists it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
}

export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

/** What the lists of MCP hold, by the member that has the items. */
interface Lists {
  readonly tools: McpTool;
  readonly resources: McpResource;
  readonly prompts: McpPrompt;
}

/** Sends one request to the MCP server. @throws McpError, SignalboxError */
type McpRequest = <Result>(method: string, params?: object, signal?: AbortSignal) => Promise<Result>;

/** Also of an agent that offers a search to other clients. */
const ALL_TOOLS = { _meta: { 'mcp.service': { tool_mode: 'all' } } };

const METHOD_NOT_FOUND = -32_601;
/** A server that has more pages than this does not end. */
const MAX_PAGES = 100;
const AUTHORIZE_PAGE = /^\/connections\/[0-9a-f-]{36}\/authorize$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const CONTENT_TYPES = { accept: 'application/json', 'content-type': 'application/json' };

/** A JSON-RPC error, of the MCP server or of the service in front of it. */
export class McpError extends SignalboxError {
  constructor(
    status: number,
    /** The code of JSON-RPC. */
    readonly rpcCode: number,
    problem: ConstructorParameters<typeof SignalboxError>[1],
    /** The service's own page on which a person signs in at the upstream, if that is what is missing. */
    readonly authorizationUrl: string | undefined,
  ) {
    super(status, problem);
  }

  /** The server has no such method: it offers no resources, for example. */
  get isUnknownMethod(): boolean {
    return this.rpcCode === METHOD_NOT_FOUND;
  }
}

/** A function that sends requests to a connection or an agent as to any MCP server. */
export function useMcp(connectionId: string): McpRequest {
  const organization = useOrganization();
  return useMemo(() => requestTo(organization, connectionId), [connectionId, organization]);
}

/** Reads all of a server's tools, resources or prompts. A server that does not know the method has none. */
export function useMcpList<Kind extends keyof Lists>(connectionId: string, kind: Kind) {
  const organization = useOrganization();
  return useQuery({ ...listOptions(organization, connectionId, kind), placeholderData: keepPreviousData });
}

/** Reads the tools of several servers. In the order of the ids; undefined while they are read, or if that failed. */
export function useToolsOf(connectionIds: readonly string[]): readonly (readonly McpTool[] | undefined)[] {
  const organization = useOrganization();
  const queries = connectionIds.map((id) => listOptions(organization, id, 'tools'));
  return useQueries({ queries }).map(({ data }) => data);
}

function listOptions<Kind extends keyof Lists>(organization: Organization, connectionId: string, kind: Kind) {
  return queryOptions<readonly Lists[Kind][]>({
    queryKey: mcpKey(organization.slug, connectionId, kind),
    queryFn: ({ signal }) => readAll<Kind>(requestTo(organization, connectionId), kind, signal),
    staleTime: 60_000,
    // Each attempt can start a program or wait for a server that is down.
    retry: false,
  });
}

function requestTo({ fetch, slug, url }: Organization, connectionId: string): McpRequest {
  const address = `${url}/api/${encodeURIComponent(slug)}/mcp/${encodeURIComponent(connectionId)}`;
  let lastId = 0;
  return async (method, params = {}, signal) => {
    lastId += 1;
    const response = await fetch(address, {
      method: 'POST',
      headers: CONTENT_TYPES,
      body: JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }),
      ...(signal && { signal }),
    });
    return resultOf(response);
  };
}

/** The cached lists of a server. */
export function mcpKey(org: string, connectionId: string, kind?: keyof Lists): readonly string[] {
  return [org, 'mcp', connectionId, ...(kind === undefined ? [] : [kind])];
}

async function readAll<Kind extends keyof Lists>(
  request: McpRequest,
  kind: Kind,
  signal: AbortSignal,
): Promise<readonly Lists[Kind][]> {
  const items: Lists[Kind][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await request<Record<string, unknown>>(
      `${kind}/list`,
      { ...(cursor !== undefined && { cursor }), ...(kind === 'tools' && ALL_TOOLS) },
      signal,
    );
    const found = answer[kind];
    if (Array.isArray(found)) items.push(...(found as Lists[Kind][]));
    cursor = typeof answer['nextCursor'] === 'string' ? answer['nextCursor'] : undefined;
    if (cursor === undefined) break;
  }
  return items;
}

interface RpcAnswer {
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: {
      readonly code?: string;
      readonly request_id?: string;
      readonly authorization_url?: unknown;
      readonly errors?: SignalboxError['errors'];
    };
  };
}

async function resultOf<Result>(response: Response): Promise<Result> {
  const copy = response.clone();
  const answer = (await response.json().catch(() => ({}))) as RpcAnswer;
  if (answer.error !== undefined) throw errorOf(response.status, answer.error);
  if (!response.ok || answer.result === undefined) throw await SignalboxError.of(copy);
  return answer.result as Result;
}

function errorOf(status: number, { code: rpcCode, message, data }: NonNullable<RpcAnswer['error']>): McpError {
  const problem = {
    detail: message,
    ...(data?.code !== undefined && { code: data.code }),
    ...(data?.request_id !== undefined && { request_id: data.request_id }),
    ...(Array.isArray(data?.errors) && { errors: data.errors }),
  };
  return new McpError(status, rpcCode, problem, authorizePageOf(data?.authorization_url));
}

/**
 * The page of this service that the address leads to. An error can be of an MCP server, which names any address in it:
 * undefined for all other pages. On a loopback address, `localhost` and `127.0.0.1` are one service, and the browser is
 * signed in at one of them.
 */
function authorizePageOf(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const { origin, hostname, port, pathname } = new URL(address);
  const isSameLoopback = LOOPBACK.has(hostname) && LOOPBACK.has(location.hostname) && port === location.port;
  if ((origin !== location.origin && !isSameLoopback) || !AUTHORIZE_PAGE.test(pathname)) return undefined;
  return location.origin + pathname;
}
