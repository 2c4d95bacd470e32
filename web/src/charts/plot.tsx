import { Bar, BarChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { formatShort } from '../ui/format.js';
import { PLOT_INSETS, type PlotProps } from './plot-props.js';

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

/** Values over time: stacked bars, or lines. In a file of its own, since the library is large. Nothing moves. */
export function Plot({ points, series, kind, formatAt, formatValue }: PlotProps) {
  const rows = points.map(({ at, values }) => ({ at, ...values }));
  const axes = [
    <CartesianGrid key="grid" vertical={false} stroke="var(--border)" strokeDasharray="3 3" />,
    // Bands, also of lines: each step has the same width in all charts.
    <XAxis key="x" dataKey="at" scale="band" {...AXIS} tickFormatter={formatAt} minTickGap={40} />,
    <YAxis
      key="y"
      {...AXIS}
      axisLine={false}
      width={PLOT_INSETS.left}
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
  const common = {
    data: rows,
    accessibilityLayer: false,
    margin: { top: 4, right: PLOT_INSETS.right, bottom: 0, left: 0 },
  };
  return (
    <ResponsiveContainer width="100%" height="100%">
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
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      )}
    </ResponsiveContainer>
  );
}
