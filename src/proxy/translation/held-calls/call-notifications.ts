import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import { isRecord } from '../../../core/is-record.js';
import { isFrom, type LogLevel, toLogLevel } from '../../../upstreams/contract/log-level.js';

/**
 * The notification of a call as the request that waits for it gets it: progress if it asked for some, under its own
 * token, and log messages from the level that it names (MCP 2026-07-28, "Logging"). Undefined for any other one.
 * @param meta of the request
 */
export function notificationFor(
  message: Readonly<Record<string, unknown>>,
  meta: Readonly<Record<string, unknown>>,
): object | undefined {
  const { method } = message;
  const params = isRecord(message['params']) ? message['params'] : {};
  if (method === 'notifications/progress') {
    const { progressToken } = meta;
    return progressToken === undefined ? undefined : { ...message, params: { ...params, progressToken } };
  }
  return isWantedLog(message, logLevelIn(meta)) ? message : undefined;
}

/** From which level on a request wants log messages; undefined if it wants none. @param meta of the request */
export function logLevelIn(meta: unknown): LogLevel | undefined {
  return isRecord(meta) ? toLogLevel(meta[LOG_LEVEL_META_KEY]) : undefined;
}

/** True if this is a log message from that level on. */
export function isWantedLog(
  { method, params }: Readonly<Record<string, unknown>>,
  least: LogLevel | undefined,
): boolean {
  if (least === undefined || method !== 'notifications/message') return false;
  return isFrom(least, isRecord(params) ? params['level'] : undefined);
}
