import { useEffect, useRef } from 'react';
import { cn } from '../../ui/class-names.js';
import { formatNumber } from '../../ui/format.js';
import type { useCallCompletion } from './use-call-completion.js';

/** The tools that complete a call, above the field in which it is written. */
export function ToolOptions({ completion }: { readonly completion: ReturnType<typeof useCallCompletion> }) {
  const { tools, foundCount, active, listId, optionId, take } = completion;
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => {
    chosen.current?.scrollIntoView({ block: 'nearest' });
  }, [active, tools.length]);
  if (tools.length === 0) return null;
  return (
    <div className="absolute bottom-full left-0 z-10 mb-1 w-full max-w-md overflow-hidden rounded-md border bg-card shadow">
      <ul role="listbox" id={listId} aria-label="Tools to call" className="max-h-52 overflow-y-auto p-1">
        {tools.map((tool, index) => (
          <li
            key={tool}
            id={optionId(index)}
            ref={index === active ? chosen : undefined}
            role="option"
            aria-selected={index === active}
            className={cn(
              'cursor-pointer truncate rounded px-2 py-1 font-mono text-[0.8125rem]',
              index === active ? 'bg-accent text-accent-foreground' : 'hover:bg-muted',
            )}
            // The focus stays in the field.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(tool)}
          >
            {tool}
          </li>
        ))}
      </ul>
      <p role="status" className="border-t px-3 py-1.5 text-xs text-muted-foreground">
        {foundCount === 1 ? '1 tool' : `${formatNumber(foundCount)} tools`}: arrow keys choose, Enter takes, Escape
        closes.
      </p>
    </div>
  );
}
