import { Link } from '@tanstack/react-router';
import { Ban, Bot, Globe, KeyRound, type LucideIcon, Plug, TriangleAlert, User, Wrench } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useOrganization } from '../../session/organization.js';
import { cn } from '../../ui/class-names.js';
import type { Box, Line, Picture } from './picture.js';

const ROW = 56;
const BOX = 46;
const TOP = 32;
/** The distance between columns, for the lines, as a share of the width of a box. */
const GAP_SHARE = 0.5;
/** Where on a line its marks are: near the end at which fewer lines meet. */
const MARK_AT = 0.82;
/** From this share of errors on, a line is red. */
const BAD_SHARE = 0.05;
const WIDEST = 6;

const ICONS: Readonly<Record<Box['kind'], LucideIcon>> = {
  key: KeyRound,
  person: User,
  public: Globe,
  agent: Bot,
  connection: Plug,
  tool: Wrench,
};

/** Where a box stands. */
interface Place {
  readonly x: number;
  readonly y: number;
  readonly column: number;
  readonly row: number;
}

/**
 * Boxes in columns with lines between them. Each box is a link that puts it into the middle; the arrow keys go to the
 * boxes next to it. Everything that the lines show is in the table below, so they are hidden from screen readers.
 */
export function GraphPicture({ picture, label }: { readonly picture: Picture; readonly label: string }) {
  const [frame, width] = useWidth();
  const [lit, setLit] = useState<string>();
  const { columns, lines } = picture;
  const boxWidth = width / (columns.length + (columns.length - 1) * GAP_SHARE);
  const columnWidth = boxWidth * (1 + GAP_SHARE);
  const places = new Map(
    columns.flatMap(({ boxes }, column) =>
      boxes.map(({ ref }, row): [string, Place] => [ref, { column, row, x: column * columnWidth, y: TOP + row * ROW }]),
    ),
  );
  const rows = Math.max(1, ...columns.map(({ boxes, hidden }) => boxes.length + (hidden > 0 ? 1 : 0)));
  const height = TOP + rows * ROW;
  const near = neighborsOf(lit, lines);
  const out = Map.groupBy(lines, ({ from }) => from);
  const into = Map.groupBy(lines, ({ to }) => to);
  return (
    <div
      ref={frame}
      role="group"
      aria-label={label}
      className="relative hidden min-w-0 md:block"
      style={{ height }}
      onKeyDown={(event) => moveFocus(event, picture, places)}
      onMouseLeave={() => setLit(undefined)}
      onBlur={() => setLit(undefined)}
    >
      {width > 0 && (
        <svg aria-hidden width={width} height={height} className="absolute inset-0">
          {lines.map((line) => (
            <GraphLine
              key={`${line.from} ${line.to}`}
              line={line}
              from={places.get(line.from)}
              to={places.get(line.to)}
              boxWidth={boxWidth}
              markAt={(out.get(line.from)?.length ?? 0) < (into.get(line.to)?.length ?? 0) ? 1 - MARK_AT : MARK_AT}
              isDim={lit !== undefined && line.from !== lit && line.to !== lit}
            />
          ))}
        </svg>
      )}
      {columns.map(({ title, boxes, hidden }, column) => (
        <div key={title} role="group" aria-label={title}>
          <p
            aria-hidden
            className="absolute top-0 truncate text-sm font-medium text-muted-foreground"
            style={{ left: column * columnWidth, width: boxWidth }}
          >
            {title}
          </p>
          {boxes.map((box, row) => (
            <GraphBox
              key={box.ref}
              box={box}
              left={column * columnWidth}
              top={TOP + row * ROW}
              width={boxWidth}
              isDim={near !== undefined && !near.has(box.ref)}
              onLight={() => setLit(box.ref)}
            />
          ))}
          {hidden > 0 && (
            <p
              className="absolute text-[0.8125rem] text-muted-foreground"
              style={{ left: column * columnWidth, top: TOP + boxes.length * ROW, width: boxWidth }}
            >
              {hidden} more: search, or see the table
            </p>
          )}
          {boxes.length === 0 && hidden === 0 && (
            <p
              className="absolute text-[0.8125rem] text-muted-foreground"
              style={{ left: column * columnWidth, top: TOP, width: boxWidth }}
            >
              None
            </p>
          )}
        </div>
      ))}
    </div>
  );
}

function GraphBox({
  box,
  left,
  top,
  width,
  isDim,
  onLight,
}: {
  readonly box: Box;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly isDim: boolean;
  readonly onLight: () => void;
}) {
  const { slug } = useOrganization();
  const Icon = box.state === 'refused' ? Ban : box.state === 'error' ? TriangleAlert : ICONS[box.kind];
  return (
    <Link
      to="/$org/access"
      params={{ org: slug }}
      search={
        ((current: Record<string, string | undefined>) => ({
          ...(current['period'] !== undefined && { period: current['period'] }),
          ...(box.isSelected ? current : defined(box.search)),
        })) as never
      }
      resetScroll={false}
      data-ref={box.ref}
      aria-current={box.isSelected ? 'true' : undefined}
      title={box.title}
      className={cn(
        'absolute flex items-center gap-2 rounded-md border bg-card px-2.5 transition-opacity hover:border-primary',
        box.isSelected && 'border-2 border-primary bg-accent text-accent-foreground',
        box.state === 'inactive' && 'border-dashed border-input text-muted-foreground',
        box.state === 'refused' && 'border-dashed text-muted-foreground',
        box.state === 'error' && 'border-destructive',
        isDim && 'opacity-40',
      )}
      style={{ left, top, width, height: BOX }}
      onMouseEnter={onLight}
      onFocus={onLight}
    >
      <Icon aria-hidden className={cn('size-4 shrink-0', box.state === 'error' && 'text-destructive')} />
      <span className="flex min-w-0 flex-col leading-tight">
        <span className="truncate text-sm font-medium">
          <span className="sr-only">{KIND_WORDS[box.kind]} </span>
          {box.title}
        </span>
        {box.detail && <span className="truncate text-xs">{box.detail}</span>}
      </span>
    </Link>
  );
}

const KIND_WORDS: Readonly<Record<Box['kind'], string>> = {
  key: 'Key',
  person: 'Person',
  public: 'Callers',
  agent: 'Agent',
  connection: 'Connection',
  tool: 'Tool',
};

/** A point of a curve, for one of the two axes. */
function bezier(t: number, ...[p0, p1, p2, p3]: [number, number, number, number]): number {
  const s = 1 - t;
  return s ** 3 * p0 + 3 * s * s * t * p1 + 3 * s * t * t * p2 + t ** 3 * p3;
}

/**
 * Thicker with more calls; a triangle for errors, and red if they are many; dashed for runs; a diamond where somebody
 * is asked first.
 */
function GraphLine({
  line,
  from,
  to,
  boxWidth,
  markAt,
  isDim,
}: {
  readonly line: Line;
  readonly from: Place | undefined;
  readonly to: Place | undefined;
  readonly boxWidth: number;
  readonly markAt: number;
  readonly isDim: boolean;
}) {
  if (from === undefined || to === undefined) return null;
  const [x1, y1] = [from.x + boxWidth, from.y + BOX / 2];
  const isLoop = from.column === to.column;
  const [x2, y2] = [isLoop ? to.x + boxWidth : to.x, to.y + BOX / 2];
  const bend = isLoop ? 40 : (x2 - x1) / 2;
  const [bend1, bend2] = [x1 + bend, isLoop ? x2 + bend : x2 - bend];
  const path = `M${x1},${y1} C${bend1},${y1} ${bend2},${y2} ${x2},${y2}`;
  const markX = bezier(markAt, x1, bend1, bend2, x2);
  const markY = bezier(markAt, y1, y1, y2, y2);
  const isBad = line.errors > line.calls * BAD_SHARE;
  const tone = isBad ? 'text-destructive' : line.calls > 0 ? 'text-primary' : 'text-input';
  return (
    <g className={cn(tone, isDim && 'opacity-15')}>
      <title>{line.words}</title>
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        strokeWidth={Math.min(WIDEST, 1 + Math.log10(line.calls + 1) * 1.5)}
        strokeDasharray={line.isRun ? '6 4' : undefined}
        strokeOpacity={line.calls > 0 ? 0.85 : 0.7}
      />
      {line.errors > 0 && (
        <path
          d={`M${markX},${markY - 7} l7,13 h-14 z`}
          className="text-destructive"
          fill="currentColor"
          stroke="var(--card)"
          strokeWidth={1.5}
        />
      )}
      {line.needsApproval && (
        <path
          d={`M${markX + (line.errors > 0 ? 15 : 0)},${markY - 7} l7,7 l-7,7 l-7,-7 z`}
          className="text-warning"
          fill="currentColor"
          stroke="var(--card)"
          strokeWidth={1.5}
        />
      )}
    </g>
  );
}

/** What the lines and boxes mean. */
export function GraphLegend() {
  const items: readonly (readonly [string, string])[] = [
    ['M0,6 h26', 'permitted'],
    ['M0,6 h6 m4,0 h6 m4,0 h6', 'by running the agent'],
  ];
  return (
    <div
      aria-hidden
      className="hidden flex-wrap items-center gap-x-5 gap-y-1 text-[0.8125rem] text-muted-foreground md:flex"
    >
      {items.map(([path, words]) => (
        <span key={words} className="inline-flex items-center gap-1.5">
          <svg width={26} height={12} className="text-input">
            <path d={path} stroke="currentColor" strokeWidth={1.5} fill="none" />
          </svg>
          {words}
        </span>
      ))}
      <span className="inline-flex items-center gap-1.5">
        <svg width={26} height={12} className="text-primary">
          <path d="M0,6 h26" stroke="currentColor" strokeWidth={4} fill="none" />
        </svg>
        calls (thicker: more)
      </span>
      <span className="inline-flex items-center gap-1.5">
        <svg width={14} height={14} className="text-destructive">
          <path d="M7,0 l7,13 h-14 z" fill="currentColor" />
        </svg>
        errors
      </span>
      <span className="inline-flex items-center gap-1.5">
        <svg width={14} height={14} className="text-warning">
          <path d="M7,0 l7,7 l-7,7 l-7,-7 z" fill="currentColor" />
        </svg>
        asks for an approval
      </span>
    </div>
  );
}

function defined(search: Box['search']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The box and those that a line joins to it. */
function neighborsOf(ref: string | undefined, lines: readonly Line[]): ReadonlySet<string> | undefined {
  if (ref === undefined) return undefined;
  const touching = lines.filter(({ from, to }) => from === ref || to === ref);
  return new Set([ref, ...touching.flatMap(({ from, to }) => [from, to])]);
}

/** Up and down within a column; left and right to the nearest box that a line joins, otherwise to the next column. */
function moveFocus(event: KeyboardEvent<HTMLElement>, { columns, lines }: Picture, places: ReadonlyMap<string, Place>) {
  const ref = event.target instanceof HTMLElement ? event.target.dataset['ref'] : undefined;
  const place = ref === undefined ? undefined : places.get(ref);
  if (place === undefined || !(event.key in STEPS)) return;
  const [across, down] = STEPS[event.key as keyof typeof STEPS];
  const joined = new Set(lines.flatMap(({ from, to }) => (from === ref ? [to] : to === ref ? [from] : [])));
  const passed = across < 0 ? columns.slice(0, place.column).toReversed() : columns.slice(place.column + 1);
  const ahead = passed.flatMap(({ boxes }) => boxes);
  const next =
    across === 0
      ? columns[place.column]?.boxes[place.row + down]
      : (ahead.find((box) => joined.has(box.ref)) ?? ahead[0]);
  if (next === undefined) return;
  event.preventDefault();
  event.currentTarget.querySelector<HTMLElement>(`[data-ref="${CSS.escape(next.ref)}"]`)?.focus();
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as const;

/** The width of an element, which follows the window. */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [frame, width] as const;
}
