const NUMBERS = new Intl.NumberFormat('en');
const DOLLARS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
const SMALL_DOLLARS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 });
/** Amounts have at most ten decimal places. */
const EXACT_DOLLARS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 10 });
const SHORT_NUMBERS = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** Milliseconds as a person reads them: `12 ms`, `3.4 s`, `2 min 5 s`, `5 min`, `1 h 30 min`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(seconds, 60, 'min', 's');
  return twoUnits(Math.round(seconds / 60), 60, 'h', 'min');
}

function twoUnits(count: number, size: number, large: string, small: string): string {
  const rest = count % size;
  return `${formatNumber(Math.floor(count / size))} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** `12,345`. */
export function formatNumber(value: number): string {
  return NUMBERS.format(value);
}

/** `1 error`, `12,345 errors`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** The number of items of a list; `10,000+` if only so many were counted and there are more. */
export function formatCount(count: number, isCut = false): string {
  return isCut ? `${formatNumber(count - 1)}+` : formatNumber(count);
}

/** US dollars: `$12.30`, and `$0.0000059` for amounts below a cent. */
export function formatCost(dollars: number): string {
  return (dollars === 0 || dollars >= 0.01 ? DOLLARS : SMALL_DOLLARS).format(dollars);
}

/** US dollars of amounts that add up: `$12.30`, `$0.0451`. */
export function formatExactCost(dollars: number): string {
  return EXACT_DOLLARS.format(dollars);
}

/** `12.3K`. */
export function formatShort(value: number): string {
  return SHORT_NUMBERS.format(value);
}

/** The size of a file: `840 bytes`, `12 KiB`, `1.4 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 1024)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
