import { useState } from 'react';
import type { McpTool } from '../api/mcp.js';
import { Button } from '../ui/button.js';
import { TextField } from '../ui/field.js';
import { ToolBadges } from './tool-badges.js';

const SHOWN_AT_ONCE = 100;

/** Which tools of a connection an agent uses, and before which it asks. */
export function ToolChoice({
  title,
  tools,
  isUnreadable,
  absence,
  selected,
  asking,
  onSelected,
  onAsking,
}: {
  /** Of the connection. */
  readonly title: string;
  readonly tools: readonly McpTool[];
  /** The server could not list its tools: names can be typed, and what is chosen stays. */
  readonly isUnreadable: boolean;
  /** What is said of a chosen tool that is not listed. */
  readonly absence: string;
  /** Null: all. */
  readonly selected: readonly string[] | null;
  /** Undefined: the rule for approvals is no list. */
  readonly asking: readonly string[] | undefined;
  readonly onSelected: (names: readonly string[]) => void;
  readonly onAsking: (names: readonly string[]) => void;
}) {
  const [text, setText] = useState('');
  const [limit, setLimit] = useState(SHOWN_AT_ONCE);
  const known = new Set(tools.map(({ name }) => name));
  const gone = [...new Set([...(selected ?? []), ...(asking ?? [])])].filter((name) => !known.has(name));
  const rows = [...gone.map((name): McpTool => ({ name })), ...tools].filter((tool) => matches(tool, text));
  const wanted = text.trim();
  const canAdd = isUnreadable && wanted !== '' && !known.has(wanted) && !gone.includes(wanted);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {isUnreadable && (
        <p className="text-sm text-warning">
          The tools cannot be listed at the moment. What is chosen stays, and you can add tools by name.
        </p>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label={`Find tools of ${title}`}
          isLabelHidden
          placeholder="Find tools"
          className="min-w-40 flex-1"
          value={text}
          onChange={setText}
        />
        {selected !== null && (
          <>
            <Button variant="secondary" size="small" onClick={() => onSelected(union(selected, rows))}>
              Choose all shown
            </Button>
            <Button variant="secondary" size="small" onClick={() => onSelected(without(selected, rows))}>
              Choose none
            </Button>
          </>
        )}
        {canAdd && (
          <Button
            variant="secondary"
            size="small"
            onClick={() =>
              selected === null ? onAsking([...(asking ?? []), wanted]) : onSelected([...selected, wanted])
            }
          >
            Add “{wanted}”
          </Button>
        )}
      </div>
      <div
        className="max-h-80 min-w-0 overflow-auto rounded-md border"
        tabIndex={0}
        role="region"
        aria-label={`Choice of tools of ${title}`}
      >
        <table className="w-full text-left text-sm">
          <thead className="border-b text-muted-foreground">
            <tr>
              {selected !== null && <th className="px-2 py-1.5 font-medium">Use</th>}
              {asking !== undefined && <th className="px-2 py-1.5 font-medium">Ask</th>}
              <th className="px-2 py-1.5 font-medium">Tool</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((tool) => (
              <tr key={tool.name} className="border-b last:border-0">
                {selected !== null && (
                  <td className="px-2 py-1.5 align-top">
                    <Check label={`Use ${tool.name}`} names={selected} name={tool.name} onChange={onSelected} />
                  </td>
                )}
                {asking !== undefined && (
                  <td className="px-2 py-1.5 align-top">
                    <Check label={`Ask before ${tool.name}`} names={asking} name={tool.name} onChange={onAsking} />
                  </td>
                )}
                <td className="w-full px-2 py-1.5 align-top">
                  <span className="flex flex-wrap items-center gap-x-2">
                    <span className="font-mono text-[0.8125rem] break-all">{tool.name}</span>
                    <ToolBadges {...tool} />
                    {gone.includes(tool.name) && !isUnreadable && (
                      <span className="text-[0.8125rem] text-warning">{absence}</span>
                    )}
                  </span>
                  {tool.description && (
                    <span className="line-clamp-1 text-[0.8125rem] break-words text-muted-foreground">
                      {tool.description}
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p className="p-3 text-sm text-muted-foreground">No tool matches.</p>}
      </div>
      {rows.length > limit && (
        <Button variant="secondary" size="small" className="self-start" onClick={() => setLimit(limit + SHOWN_AT_ONCE)}>
          Show more
        </Button>
      )}
    </div>
  );
}

function Check({
  label,
  names,
  name,
  onChange,
}: {
  readonly label: string;
  readonly names: readonly string[];
  readonly name: string;
  readonly onChange: (names: readonly string[]) => void;
}) {
  const isChecked = names.includes(name);
  return (
    <input
      type="checkbox"
      aria-label={label}
      className="size-4 accent-primary"
      checked={isChecked}
      onChange={() => onChange(isChecked ? names.filter((each) => each !== name) : [...names, name])}
    />
  );
}

function union(names: readonly string[], tools: readonly McpTool[]): readonly string[] {
  return [...new Set([...names, ...tools.map(({ name }) => name)])];
}

function without(names: readonly string[], tools: readonly McpTool[]): readonly string[] {
  const removed = new Set(tools.map(({ name }) => name));
  return names.filter((name) => !removed.has(name));
}

function matches({ name, description = '' }: McpTool, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return name.toLowerCase().includes(wanted) || description.toLowerCase().includes(wanted);
}
