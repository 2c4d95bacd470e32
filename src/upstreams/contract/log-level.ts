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

/** True if messages of this level are wanted by somebody who wants those from `least` on. */
export function isAtLeast(least: LogLevel, level: LogLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}

/** The same for the level of a message, which can be anything. */
export function isFrom(least: LogLevel, level: unknown): boolean {
  const known = toLogLevel(level);
  return known !== undefined && isAtLeast(least, known);
}
