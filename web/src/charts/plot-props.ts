import type { Insets } from './brush.js';
import type { Point, Series } from './series.js';

export interface PlotProps {
  readonly points: readonly Point[];
  readonly series: readonly Series[];
  readonly kind: 'bars' | 'lines';
  readonly formatAt: (at: string) => string;
  readonly formatValue: (value: number) => string;
}

/** The vertical axis stands at the left. */
export const PLOT_INSETS: Insets = { left: 64, right: 4 };
