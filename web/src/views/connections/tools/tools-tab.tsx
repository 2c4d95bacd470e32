import { Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { useFilters } from '../../../api/filters.js';
import { type McpTool, useMcpList } from '../../../api/mcp.js';
import { useOrganization } from '../../../session/organization.js';
import { Button } from '../../../ui/button.js';
import { Section } from '../../../ui/page.js';
import { SearchField } from '../../../ui/search-field.js';
import { EmptyState, Loading } from '../../../ui/states.js';
import { McpErrorState } from '../mcp-error-state.js';
import { SchemaTree } from './schema-tree.js';
import { ToolBadges } from '../../../tools/tool-badges.js';
import { ToolCall } from './tool-call.js';

const SHOWN_AT_ONCE = 100;
const ROUTE = '/$org/connections/$connectionId';

/** The tools of a connection; the one in the address with its schema and a form that calls it. */
export function ToolsTab({ connectionId }: { readonly connectionId: string }) {
  const [{ tool: selected = '', q = '' }, filter] = useFilters();
  const search = useCallback((text: string) => filter({ q: text }), [filter]);
  const tools = useMcpList(connectionId, 'tools');
  if (tools.isError && tools.data === undefined)
    return <McpErrorState error={tools.error} onRetry={() => void tools.refetch()} />;
  if (tools.isPending) return <Loading label="Loading the tools" />;
  if (tools.data.length === 0) {
    return (
      <EmptyState title="There is no tool that you can call.">
        <p className="text-sm text-muted-foreground">
          The server offers none, or your role or key grants you none of them: see “Access”.
        </p>
      </EmptyState>
    );
  }
  const found = tools.data.filter((tool) => matches(tool, q));
  const shown = tools.data.find(({ name }) => name === selected);
  return (
    <div className="grid grid-cols-1 min-w-0 gap-4 lg:grid-cols-[minmax(16rem,24rem)_1fr]">
      <div className="flex min-w-0 flex-col gap-3">
        <SearchField label="Search the tools" value={q} onSearch={search} />
        <p aria-live="polite" className="text-sm text-muted-foreground">
          {found.length === tools.data.length
            ? `${found.length} tools`
            : `${found.length} of ${tools.data.length} tools`}
        </p>
        <ToolLinks tools={found} selected={selected} />
      </div>
      {shown === undefined ? (
        <EmptyState title={selected === '' ? 'Choose a tool.' : `There is no tool “${selected}” here.`}>
          <p className="text-sm text-muted-foreground">You see what it takes, and can call it.</p>
        </EmptyState>
      ) : (
        <ToolDetail key={shown.name} connectionId={connectionId} tool={shown} />
      )}
    </div>
  );
}

function ToolLinks({ tools, selected }: { readonly tools: readonly McpTool[]; readonly selected: string }) {
  const [limit, setLimit] = useState(SHOWN_AT_ONCE);
  return (
    <>
      <ul
        aria-label="Tools"
        className="flex min-w-0 flex-col rounded-lg border bg-card lg:max-h-[70dvh] lg:overflow-y-auto"
      >
        {tools.slice(0, limit).map((tool) => (
          <li key={tool.name} className="border-b last:border-0">
            <Link
              from={ROUTE}
              to="."
              search={(current) => ({ ...current, tool: tool.name })}
              aria-current={tool.name === selected ? 'true' : undefined}
              className="flex min-w-0 flex-col gap-0.5 px-3 py-2 hover:bg-muted/60 aria-[current]:bg-accent aria-[current]:text-accent-foreground"
            >
              <span className="flex flex-wrap items-center gap-x-2">
                <span className="min-w-0 font-mono text-[0.8125rem] font-medium break-all">{tool.name}</span>
                <ToolBadges {...tool} />
              </span>
              {tool.description && (
                <span
                  className={
                    'line-clamp-2 text-[0.8125rem] break-words ' +
                    `${tool.name === selected ? '' : 'text-muted-foreground'}`
                  }
                >
                  {tool.description}
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
      {tools.length > limit && (
        <Button variant="secondary" size="small" onClick={() => setLimit(limit + SHOWN_AT_ONCE)}>
          Show more
        </Button>
      )}
    </>
  );
}

function ToolDetail({ connectionId, tool }: { readonly connectionId: string; readonly tool: McpTool }) {
  const { may, slug } = useOrganization();
  const title = tool.title ?? tool.annotations?.title;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Section
        title={tool.name}
        actions={
          <>
            <ToolBadges {...tool} />
            {may('ACCESS_TO_TOOL') && (
              <Link
                to="/$org/access"
                params={{ org: slug }}
                search={{ node: `connection:${connectionId}`, tool: tool.name } as never}
                className="text-sm text-primary hover:underline"
              >
                Who can call this tool?
              </Link>
            )}
          </>
        }
      >
        {title && title !== tool.name && <p className="font-medium break-words">{title}</p>}
        {tool.description && <p className="break-words whitespace-pre-line">{tool.description}</p>}
        <h3 className="text-sm font-medium text-muted-foreground">Arguments</h3>
        <SchemaTree schema={tool.inputSchema} empty="Takes no arguments." />
        {tool.outputSchema && (
          <>
            <h3 className="text-sm font-medium text-muted-foreground">Result</h3>
            <SchemaTree schema={tool.outputSchema} empty="Any value." />
          </>
        )}
      </Section>
      <Section title="Call it">
        <p className="text-sm text-muted-foreground">
          The call is made with your permissions, reaches the real server, and is on record.
        </p>
        <ToolCall connectionId={connectionId} tool={tool} />
      </Section>
    </div>
  );
}

function matches({ name, title = '', description = '' }: McpTool, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return [name, title, description].some((each) => each.toLowerCase().includes(wanted));
}
