import { isRecord } from '../../../core/is-record.js';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
/** RFC 5424, from the least to the most severe. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

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
  const least = LEVELS.indexOf(String(meta[LOG_LEVEL]));
  const isWanted = least !== -1 && LEVELS.indexOf(String(params['level'])) >= least;
  return method === 'notifications/message' && isWanted ? message : undefined;
}
