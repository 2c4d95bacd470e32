import { type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { PeriodField, rangeOf, usePeriod } from '../../charts/period.js';
import { useOrganization } from '../../session/organization.js';
import { Page, Section } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState, ErrorState, Loading, NoPermission } from '../../ui/states.js';
import { AccessMap, type MapNode } from './access-map.js';
import { askedCaller, CallerDetails } from './caller-details.js';
import { GraphLegend, GraphPicture } from './graph-picture.js';
import { AccessLink } from './node-link.js';
import { type Picture, pictureOf, pictureOfTool, withTools } from './picture.js';
import { MAX_TOOLS, ToolDetails, ToolList } from './tool-details.js';
import { WaysTable } from './ways-table.js';

const FOUND = 12;
const TOOLS_AT_ONCE = 100;
const CALLERS = 500;

/**
 * Who reaches what through what. The address says what is in the middle: `?node=key:<id>`, with `&open=<id>` the tools
 * of one thing that it reaches, or `?node=connection:<id>&tool=<name>`.
 */
export function AccessView() {
  const { may } = useOrganization();
  const shown = usePeriod();
  const graph = useTool('ACCESS_GRAPH', rangeOf(shown), { isEnabled: may('ACCESS_GRAPH') });
  const map = useMemo(() => graph.data && new AccessMap(graph.data), [graph.data]);
  if (!may('ACCESS_GRAPH'))
    return (
      <Page title="Access">
        <NoPermission />
      </Page>
    );
  if (map === undefined)
    return (
      <Page title="Access" actions={graph.isError && <PeriodField />}>
        {graph.isError ? (
          <ErrorState error={graph.error} onRetry={() => void graph.refetch()} />
        ) : (
          <Loading label="Loading who reaches what" />
        )}
      </Page>
    );
  return <Walk map={map} isCut={graph.data?.truncated === true} />;
}

function Walk({ map, isCut }: { readonly map: AccessMap; readonly isCut: boolean }) {
  const [{ node: ref, tool, q = '' }, filter] = useFilters();
  const search = useCallback((text: string) => filter({ q: text }), [filter]);
  const selected = map.find(ref);
  const [walk, onWalk] = useFocusOnSelected(`${ref} ${tool}`);
  return (
    <Page
      title={titleOf(selected, tool)}
      description={
        selected === undefined
          ? 'Who reaches what through what, as the permissions decide now, with the calls of the period.'
          : undefined
      }
      actions={
        <>
          {ref !== undefined && (
            <AccessLink
              search={{}}
              className="inline-flex min-h-9 items-center rounded-md border border-input bg-card px-3.5 text-sm font-medium hover:bg-muted"
            >
              Whole map
            </AccessLink>
          )}
          <PeriodField />
        </>
      }
    >
      <SearchField label="Find a key, person, agent or connection" value={q} onSearch={search} />
      {q !== '' && <Found map={map} text={q} />}
      {isCut && (
        <p className="text-sm text-muted-foreground">
          The organization is too large for one answer: some people, or ways with few calls, are left out.
        </p>
      )}
      <div ref={walk} className="contents" onClick={onWalk}>
        <Selected key={`${ref} ${tool}`} map={map} selected={selected} />
      </div>
    </Page>
  );
}

/** Gives the focus to the box in the middle after another box was chosen, which is drawn again. */
function useFocusOnSelected(shown: string) {
  const walk = useRef<HTMLDivElement>(null);
  const isWalking = useRef(false);
  useEffect(() => {
    if (isWalking.current) walk.current?.querySelector<HTMLElement>('[data-ref][aria-current]')?.focus();
    isWalking.current = false;
  }, [shown]);
  const onWalk = ({ target, metaKey, ctrlKey, shiftKey }: MouseEvent): void => {
    const box = target instanceof Element ? target.closest('[data-ref]') : null;
    const opensElsewhere = metaKey || ctrlKey || shiftKey;
    isWalking.current = !opensElsewhere && box !== null && !box.hasAttribute('aria-current');
  };
  return [walk, onWalk] as const;
}

function titleOf(selected: MapNode | undefined, tool: string | undefined): string {
  if (selected === undefined) return 'Access';
  if (tool !== undefined) return `Who can call ${tool}`;
  const { kind, title } = selected;
  if (kind === 'public') return 'Calls without a credential';
  if (kind === 'key') return `What the key ${title} can do`;
  if (kind === 'person') return `What ${title} can do`;
  return `Who reaches ${title}`;
}

function Found({ map, text }: { readonly map: AccessMap; readonly text: string }) {
  const wanted = text.trim().toLowerCase();
  const found = map.nodes.filter(({ title }) => title.toLowerCase().includes(wanted));
  return (
    <div className="rounded-lg border bg-card p-2" role="region" aria-label="Found">
      <ul className="grid gap-x-4 sm:grid-cols-2 xl:grid-cols-3">
        {found.slice(0, FOUND).map((node) => (
          <li key={node.ref} className="min-w-0">
            <AccessLink
              search={{ node: node.ref }}
              className="flex min-w-0 gap-2 rounded px-2 py-1.5 text-sm hover:bg-muted"
            >
              <span className="truncate font-medium text-primary">{node.title}</span>
              <span className="text-muted-foreground">{node.kind}</span>
            </AccessLink>
          </li>
        ))}
      </ul>
      <p className="px-2 py-1 text-sm text-muted-foreground" aria-live="polite">
        {found.length === 0 ? 'Nothing has this name.' : `${Math.min(FOUND, found.length)} of ${found.length} found`}
      </p>
    </div>
  );
}

function Selected({ map, selected }: { readonly map: AccessMap; readonly selected: MapNode | undefined }) {
  const [{ node: ref, tool }] = useFilters();
  if (ref !== undefined && selected === undefined)
    return <EmptyState title="There is nothing with this id. It may have been deleted." />;
  if (selected === undefined)
    return (
      <>
        <Drawn picture={pictureOf(map, undefined)} />
        <Section title="Where most calls went">
          <WaysTable ways={map.busiestWays()} empty="There were no calls in this period." />
        </Section>
      </>
    );
  if (tool !== undefined) return <SelectedTool map={map} target={selected} tool={tool} />;
  if (selected.kind === 'public')
    return (
      <>
        <Drawn picture={pictureOf(map, selected)} />
        <Section title="What was called">
          <WaysTable ways={map.waysFrom(selected)} empty="There were no calls in this period." />
        </Section>
      </>
    );
  return selected.kind === 'agent' || selected.kind === 'connection' ? (
    <SelectedTarget map={map} target={selected} />
  ) : (
    <SelectedCaller map={map} caller={selected} />
  );
}

function SelectedCaller({ map, caller }: { readonly map: AccessMap; readonly caller: MapNode }) {
  const { may } = useOrganization();
  const [{ open }] = useFilters();
  return (
    <>
      <Reached key={open ?? ''} map={map} caller={caller} open={open} />
      {may('ACCESS_OF_CALLER') ? <CallerDetails map={map} caller={caller} /> : <NoPermission />}
    </>
  );
}

/** What a caller reaches, with the tools of the one thing that is open. Its key is the open one. */
function Reached({
  map,
  caller,
  open,
}: {
  readonly map: AccessMap;
  readonly caller: MapNode;
  readonly open: string | undefined;
}) {
  const target = open === undefined ? undefined : map.target(open);
  const { tools, ...list } = useToolsOf(target, askedCaller(caller));
  const picture = pictureOf(map, caller, target);
  const search = { node: caller.ref, open };
  return (
    <>
      <Drawn picture={target && tools.data ? withTools(picture, target, tools.data, search) : picture} />
      {target && tools.data && <ToolList target={target} caller={caller} tools={tools.data} {...list} />}
      {tools.isError && <ErrorState error={tools.error} onRetry={() => void tools.refetch()} />}
    </>
  );
}

function SelectedTarget({ map, target }: { readonly map: AccessMap; readonly target: MapNode }) {
  const { tools, ...list } = useToolsOf(target, {});
  const picture = pictureOf(map, target);
  return (
    <>
      <Drawn picture={tools.data ? withTools(picture, target, tools.data, {}) : picture} />
      <Section title="Who reaches it">
        <WaysTable ways={map.waysTo(target)} empty="Nobody holds a grant on it." />
      </Section>
      {target.kind === 'agent' && (
        <Section title="What it uses">
          <WaysTable ways={map.waysFrom(target)} empty="It has no connections." />
        </Section>
      )}
      {tools.isError && <ErrorState error={tools.error} onRetry={() => void tools.refetch()} />}
      {tools.data && <ToolList target={target} tools={tools.data} {...list} />}
    </>
  );
}

function SelectedTool({
  map,
  target,
  tool,
}: {
  readonly map: AccessMap;
  readonly target: MapNode;
  readonly tool: string;
}) {
  const { may } = useOrganization();
  const access = useTool(
    'ACCESS_TO_TOOL',
    { connection_id: target.id, tool_name: tool, limit: CALLERS },
    { isEnabled: may('ACCESS_TO_TOOL') },
  );
  if (!may('ACCESS_TO_TOOL')) return <NoPermission />;
  if (access.isError) return <ErrorState error={access.error} onRetry={() => void access.refetch()} />;
  if (access.isPending || access.isPlaceholderData) return <Loading label="Loading who can call the tool" />;
  return (
    <>
      <Drawn picture={pictureOfTool(map, access.data)} />
      <ToolDetails access={access.data} />
    </>
  );
}

function Drawn({ picture }: { readonly picture: Picture }) {
  return (
    <section aria-label="Picture" className="hidden min-w-0 flex-col gap-4 rounded-lg border bg-card p-4 md:flex">
      <GraphLegend />
      <GraphPicture picture={picture} label="Who reaches what" />
    </section>
  );
}

/** The tools of a connection or agent, more of them on demand, or those with a text in their name. */
function useToolsOf(target: MapNode | undefined, caller: { api_key_id?: string; user_id?: string }) {
  const { may } = useOrganization();
  const [limit, setLimit] = useState(TOOLS_AT_ONCE);
  const [search, setSearch] = useState('');
  const isEnabled = target !== undefined && may('ACCESS_TOOLS_LIST');
  const tools = useTool(
    'ACCESS_TOOLS_LIST',
    { connection_id: target?.id ?? '', limit, ...(search && { search }), ...caller },
    { isEnabled },
  );
  const onMore = (): void => setLimit(Math.min(MAX_TOOLS, limit + TOOLS_AT_ONCE));
  return { tools, search, onSearch: setSearch, onMore };
}
