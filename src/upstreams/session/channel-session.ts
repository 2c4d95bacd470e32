/** The session of the upstream that a channel speaks in; empty for an upstream that keeps none. */
export interface ChannelSession {
  readonly id?: string;
  /** Sent as `MCP-Protocol-Version`, unless the exchange's own headers name one. */
  readonly protocolVersion?: string;
}

/**
 * Does this answer to a request in a session say that the upstream has forgotten the session, and so has not taken the
 * request? The specification wants 404. Servers built after the SDK's old examples answer 400 with an error that has a word
 * on the session and, because they have not read the request, no id.
 */
export function isSessionLost(status: number, body: string): boolean {
  if (status !== 400) return status === 404;
  const { id, error } = parse(body);
  return id == null && typeof error?.message === 'string' && /\bsession\b/i.test(error.message);
}

function parse(text: string): { id?: unknown; error?: { message?: unknown } } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
