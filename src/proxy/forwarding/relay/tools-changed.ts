const NAMES = ['tools/list_changed', String.raw`tools\/list_changed`];

/**
 * True if this event might report that the list of tools has changed (MCP, `notifications/tools/list_changed`). The
 * event is searched, not parsed: a needless lookup of the list does no harm. Some servers escape slashes (RFC 8259 §7).
 */
export function saysToolsChanged(event: Buffer): boolean {
  return NAMES.some((name) => event.includes(name));
}
