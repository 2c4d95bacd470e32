import type { LoggingLevel } from '@modelcontextprotocol/client';

/** RFC 5424, from the least to the most severe. */
const LEVELS: readonly LoggingLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

export type LogLevel = LoggingLevel;

/** The level of this name; undefined if there is none. */
export function toLogLevel(name: unknown): LogLevel | undefined {
  return LEVELS.find((level) => level === name);
}

/** True if somebody who wants messages from `least` on wants those of this level. False for a value that is not a level. */
export function isFrom(least: LogLevel, level: unknown): boolean {
  const known = toLogLevel(level);
  return known !== undefined && LEVELS.indexOf(known) >= LEVELS.indexOf(least);
}
