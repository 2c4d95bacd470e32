import { useQuery } from '@tanstack/react-query';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { useOrganization } from '../session/organization.js';

/** A tool that an MCP endpoint lists. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
}

interface ToolsAnswer {
  readonly result?: { readonly tools: readonly ListedTool[]; readonly nextCursor?: string };
  readonly error?: { readonly message: string };
}

const MAX_PAGES = 20;

/** The tools of a connection or an agent that the caller can call, asked of its MCP endpoint. */
export function useToolsOf(id: string, isEnabled = true) {
  const { slug, fetch } = useOrganization();
  return useQuery({
    queryKey: [slug, 'tools/list', id],
    queryFn: async ({ signal }): Promise<readonly ListedTool[]> => {
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const { tools: more, nextCursor } = await listTools(fetch, `/api/${slug}/mcp/${id}`, cursor, signal);
        tools.push(...more);
        cursor = nextCursor;
        if (cursor === undefined) break;
      }
      return tools;
    },
    enabled: isEnabled,
    staleTime: 60_000,
  });
}

async function listTools(
  send: typeof fetch,
  path: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ tools: readonly ListedTool[]; nextCursor?: string }> {
  const response = await send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: cursor ? { cursor } : {} }),
    signal,
  });
  const answer = (await response.json()) as ToolsAnswer;
  if (answer.result) return answer.result;
  throw new SignalboxError(response.status, {
    title: 'The tools could not be listed.',
    detail: answer.error?.message ?? 'The tools could not be listed.',
  });
}
