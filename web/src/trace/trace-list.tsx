import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { cn } from '../ui/class-names.js';
import type { TimeScale } from './time-scale.js';
import type { Span } from './span.js';
import { SpanRow, StepRow } from './trace-rows.js';
import { type Step, treeOf } from './trace-tree.js';

/** A list of so many rows is drawn whole, so that the browser's own search finds everything. */
const DRAWN_WHOLE = 100;
/** Rows beyond each edge of the visible part. */
const OVERSCAN = 12;
/** About the height of a row with two lines, in pixels; each is measured once it is drawn. */
const ROW_HEIGHT = 48;

type Row = { readonly step: Step } | { readonly span: Span; readonly isInStep: boolean };

/**
 * The steps of a run with their stretches, of which only those near the visible part are drawn: a run can have
 * thousands.
 */
export function TraceList({
  spans,
  scale,
  selected,
  onSelect,
}: {
  readonly spans: readonly Span[];
  readonly scale: TimeScale;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}) {
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const [focused, setFocused] = useState<number>();
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(spans, closed), [spans, closed]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => keyOf(rows[index]),
    overscan: rows.length > DRAWN_WHOLE ? OVERSCAN : rows.length,
    // The row with the focus keeps it when it is scrolled away.
    rangeExtractor: (range) => withRow(defaultRangeExtractor(range), focused, rows.length),
  });
  const place = rows.findIndex((row) => 'span' in row && row.span.id === selected);
  const shown = useRef<string>(undefined);
  useEffect(() => {
    // Once, when the rows of the address are there: later the reader scrolls.
    if (place < 0 || shown.current === selected) return;
    shown.current = selected;
    list.scrollToIndex(place, { align: 'auto' });
  }, [list, place, selected]);
  const toggle = (step: number): void =>
    setClosed(
      (before) => new Set(before.has(step) ? [...before].filter((other) => other !== step) : [...before, step]),
    );
  return (
    <div ref={box} className="max-h-[70vh] min-w-0 overflow-y-auto text-sm [scrollbar-gutter:stable]">
      <ol aria-label="Timeline" className="relative min-w-0" style={{ height: `${list.getTotalSize()}px` }}>
        {list.getVirtualItems().map(({ key, index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <li
              key={key}
              ref={list.measureElement}
              data-index={index}
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              onFocus={() => setFocused(index)}
              onBlur={() => setFocused(undefined)}
              className={cn('absolute inset-x-0 top-0 min-w-0', 'step' in row && index > 0 && 'border-t')}
              style={{ transform: `translateY(${start}px)` }}
            >
              {'step' in row ? (
                <StepRow
                  step={row.step}
                  scale={scale}
                  isOpen={!closed.has(row.step.number)}
                  onToggle={() => toggle(row.step.number)}
                />
              ) : (
                <SpanRow
                  span={row.span}
                  scale={scale}
                  isInStep={row.isInStep}
                  isSelected={row.span.id === selected}
                  onSelect={() => onSelect(row.span.id === selected ? undefined : row.span.id)}
                />
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function rowsOf(spans: readonly Span[], closed: ReadonlySet<number>): Row[] {
  return treeOf(spans).flatMap((node): Row[] => {
    if ('span' in node) return [{ span: node.span, isInStep: false }];
    const inside = closed.has(node.step.number) ? [] : node.step.spans;
    return [{ step: node.step }, ...inside.map((span) => ({ span, isInStep: true }))];
  });
}

function keyOf(row: Row | undefined): string {
  if (row === undefined) return '';
  return 'step' in row ? `step ${row.step.number}` : row.span.id;
}

function withRow(drawn: number[], row: number | undefined, count: number): number[] {
  if (row === undefined || row >= count || drawn.includes(row)) return drawn;
  return [...drawn, row].sort((a, b) => a - b);
}
