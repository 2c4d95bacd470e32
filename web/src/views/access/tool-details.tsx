import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { Badge, StateBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { DataTable } from '../../ui/data-table.js';
import { Section } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState } from '../../ui/states.js';
import { formatNumber } from '../../ui/format.js';
import type { MapNode } from './access-map.js';
import { agentsWithTool } from './agents-with-tool.js';
import { AccessLink } from './node-link.js';
import { type Tools, waysInWords } from './picture.js';

const SHOWN_AT_ONCE = 50;
/** Tools that the list can show. */
export const MAX_TOOLS = 500;

/** Who can call a tool, and on which ways. */
export function ToolDetails({ access }: { readonly access: ToolOutput<'ACCESS_TO_TOOL'> }) {
  const agents = new Map(agentsWithTool(access).map((agent) => [agent.id, agent]));
  const noteOf = (id: string) => {
    const { naming = '', approval = false } = agents.get(id) ?? {};
    const words = [naming, approval && '(runs ask first)'].filter(Boolean);
    return words.length > 0 && <span className="wrap-anywhere text-muted-foreground"> {words.join(' ')}</span>;
  };
  const linksTo = (ids: readonly string[]) =>
    ids.length === 0 ? (
      'no'
    ) : (
      <ul>
        {ids.map((id) => (
          <li key={id}>
            <AccessLink search={{ node: `agent:${id}` }} className="break-words text-primary hover:underline">
              {agents.get(id)?.title ?? id}
            </AccessLink>
            {noteOf(id)}
          </li>
        ))}
      </ul>
    );
  return (
    <Section title="Who can call it">
      {access.public && (
        <p className="text-sm">
          <Badge tone="warning">public</Badge> The server marks it as public: everyone who reaches this service can call
          it.
        </p>
      )}
      {access.items.length === 0 ? (
        <EmptyState title="No key and no person can call it." />
      ) : (
        <DataTable
          label="Callers"
          rows={access.items}
          keyOf={({ type, id }) => `${type}:${id}`}
          columns={[
            {
              header: 'Who',
              cell: ({ type, id, name }) => (
                <span className="flex flex-wrap items-center gap-2">
                  <AccessLink search={{ node: `${type}:${id}` }}>{name}</AccessLink>
                  <span className="text-muted-foreground">{type}</span>
                </span>
              ),
            },
            { header: 'How', cell: waysInWords },
            { header: 'At the endpoint of', isSecondary: true, cell: ({ agents: ids }) => linksTo(ids) },
            { header: 'By running', isSecondary: true, cell: ({ runs }) => linksTo(runs) },
          ]}
        />
      )}
      <p className="text-sm text-muted-foreground" aria-live="polite">
        {formatNumber(access.items.length)} of {formatNumber(access.totalCount)} keys and people
        {access.truncated && '; there are more agents or people than an answer covers'}
        {access.totalCount > access.items.length && '. Find one of the others by its name, to see what it can call'}
      </p>
    </Section>
  );
}

/** The tools of a connection or an agent; with a caller, which of them it can call there. */
export function ToolList({
  target,
  caller,
  tools,
  search,
  onSearch,
  onMore,
}: {
  readonly target: MapNode;
  readonly caller?: MapNode | undefined;
  readonly tools: Tools;
  readonly search: string;
  readonly onSearch: (text: string) => void;
  /** Reads more of them. */
  readonly onMore: () => void;
}) {
  const [limit, setLimit] = useState(SHOWN_AT_ONCE);
  const title = caller === undefined ? `Tools of ${target.title}` : `What ${caller.title} can call of ${target.title}`;
  const rows = tools.items.slice(0, limit);
  const hasMore = tools.totalCount > rows.length;
  return (
    <Section title={title}>
      {(search !== '' || tools.totalCount > SHOWN_AT_ONCE) && (
        <div className="flex max-w-md">
          <SearchField label="Find one of these tools" value={search} onSearch={onSearch} />
        </div>
      )}
      {rows.length === 0 ? (
        <EmptyState title={search === '' ? 'No tool is known.' : 'No tool has this in its name.'} />
      ) : (
        <DataTable
          label="Tools"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              header: 'Tool',
              cell: ({ name }) => (
                <AccessLink
                  search={{ node: target.ref, tool: name }}
                  className="font-mono text-[0.8125rem] break-all text-primary hover:underline"
                >
                  {name}
                </AccessLink>
              ),
            },
            ...(caller === undefined
              ? []
              : [
                  {
                    header: 'Permitted',
                    cell: ({ callable }: Tools['items'][number]) => (
                      <StateBadge state={callable ? 'ready' : 'blocked'}>{callable ? 'yes' : 'no'}</StateBadge>
                    ),
                  },
                ]),
            {
              header: 'Note',
              cell: ({ approval, public: isPublic }) => (
                <span className="flex flex-wrap gap-1">
                  {approval && <StateBadge state="waiting">runs ask first</StateBadge>}
                  {isPublic && <Badge tone="warning">public</Badge>}
                </span>
              ),
            },
          ]}
        />
      )}
      {hasMore && rows.length < MAX_TOOLS && (
        <Button
          variant="secondary"
          size="small"
          className="self-start"
          onClick={() => {
            if (limit >= tools.items.length) onMore();
            setLimit(limit + SHOWN_AT_ONCE);
          }}
        >
          Show more of {formatNumber(tools.totalCount)}
        </Button>
      )}
      {hasMore && rows.length >= MAX_TOOLS && (
        <p className="text-sm text-muted-foreground">
          These are {formatNumber(rows.length)} of {formatNumber(tools.totalCount)} tools. Search for a part of the name
          to find the others.
        </p>
      )}
    </Section>
  );
}
