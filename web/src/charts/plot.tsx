import { Bar, BarChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { formatShort } from '../ui/time.js';
import type { Point, Series } from './series.js';

const AXIS = {
  stroke: 'var(--border)',
  tick: { fill: 'var(--muted-foreground)', fontSize: 12 },
  tickLine: false,
} as const;
const TOOLTIP = {
  contentStyle: {
    background: 'var(--card)',
    border: '1px solid var(--border)',
    borderRadius: 6,
    color: 'var(--foreground)',
    fontSize: 13,
  },
  labelStyle: { color: 'var(--muted-foreground)' },
  cursor: { fill: 'var(--muted)', stroke: 'var(--border)' },
  isAnimationActive: false,
} as const;

export interface PlotProps {
  readonly points: readonly Point[];
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly formatAt: (at: string) => string;
  readonly formatValue: (value: number) => string;
}

/** Values over time: stacked bars, or lines. In a file of its own, since the library is large. Nothing moves. */
export function Plot({ points, series, kind, formatAt, formatValue }: PlotProps) {
  const rows = points.map(({ at, values }) => ({ at, ...values }));
  const axes = [
    <CartesianGrid key="grid" vertical={false} stroke="var(--border)" strokeDasharray="3 3" />,
    <XAxis key="x" dataKey="at" {...AXIS} tickFormatter={formatAt} minTickGap={40} />,
    <YAxis
      key="y"
      {...AXIS}
      axisLine={false}
      width={kind === 'lines' ? 64 : 44}
      allowDecimals={kind === 'lines'}
      tickFormatter={kind === 'lines' ? formatValue : formatShort}
    />,
    <Tooltip
      key="tooltip"
      {...TOOLTIP}
      labelFormatter={(at) => formatAt(String(at))}
      formatter={(value) => formatValue(Number(value))}
    />,
  ];
  const common = { data: rows, accessibilityLayer: false, margin: { top: 4, right: 4, bottom: 0, left: 0 } };
  return (
    <ResponsiveContainer width="100%" height={220}>
      {kind === 'bars' ? (
        <BarChart {...common}>
          {axes}
          {series.map(({ id, label, color }) => (
            <Bar
              key={id}
              dataKey={id}
              name={label}
              fill={color}
              stackId="all"
              isAnimationActive={false}
              maxBarSize={28}
            />
          ))}
        </BarChart>
      ) : (
        <LineChart {...common}>
          {axes}
          {series.map(({ id, label, color }) => (
            <Line
              key={id}
              dataKey={id}
              name={label}
              stroke={color}
              strokeWidth={2}
              dot={{ r: 2 }}
              connectNulls
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      )}
    </ResponsiveContainer>
  );
}
