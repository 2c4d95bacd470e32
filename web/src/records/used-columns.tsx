import type { Column } from '../ui/data-table.js';
import { formatCost, formatDuration, formatNumber } from '../ui/format.js';

const SHOWN_TOOLS = 3;

/** What a run or a thread has used. */
interface Used {
  readonly tools: readonly string[];
  readonly duration_ms: number | null;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
}

/** The columns of tools, duration, tokens and cost. */
export function usedColumns<Row>(
  usedOf: (row: Row) => Used,
  onTool: (tool: string) => void = () => undefined,
): readonly Column<Row>[] {
  const figure = (header: string, valueOf: (used: Used) => string): Column<Row> => ({
    header,
    isSecondary: true,
    align: 'right',
    cell: (row) => <span className="whitespace-nowrap">{valueOf(usedOf(row))}</span>,
  });
  return [
    { header: 'Tools', isSecondary: true, cell: (row) => <Tools tools={usedOf(row).tools} onTool={onTool} /> },
    figure('Duration', ({ duration_ms: ms }) => (ms === null ? '' : formatDuration(ms))),
    figure('Tokens', ({ tokens }) => (tokens === null ? '' : formatNumber(tokens))),
    figure('Cost', ({ cost_usd: cost }) => (cost === null ? '' : formatCost(cost))),
  ];
}

function Tools({ tools, onTool }: { readonly tools: readonly string[]; readonly onTool: (tool: string) => void }) {
  const more = tools.slice(SHOWN_TOOLS);
  return (
    <span className="flex max-w-48 flex-col items-start gap-0.5">
      {tools.slice(0, SHOWN_TOOLS).map((tool) => (
        <button
          key={tool}
          type="button"
          aria-label={`Only with the tool ${tool}`}
          title={tool}
          className="min-h-6 max-w-full truncate font-mono text-[0.8125rem] text-primary hover:underline"
          onClick={() => onTool(tool)}
        >
          {tool}
        </button>
      ))}
      {more.length > 0 && (
        <span className="text-xs text-muted-foreground" title={more.join(', ')}>
          and {more.length} more
        </span>
      )}
    </span>
  );
}
