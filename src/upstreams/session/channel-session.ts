import { isRecord, parseRecord } from '../../core/is-record.js';

/** The upstream session of a channel; empty for an upstream without sessions. */
export interface ChannelSession {
  readonly id?: string;
  /** Sent as `MCP-Protocol-Version`, unless the headers of the exchange contain it. */
  readonly protocolVersion?: string;
}

/**
 * True if this answer says that the upstream no longer knows the session, and so did not process the request. The
 * specification requires 404. Servers based on old SDK examples answer 400 with an error that mentions the session and,
 * because they have not read the request, has no id.
 */
export function isSessionLost(status: number, body: string): boolean {
  if (status !== 400) return status === 404;
  const { id, error } = parseRecord(body) ?? {};
  return id == null && isRecord(error) && typeof error['message'] === 'string' && /\bsession\b/i.test(error['message']);
}
