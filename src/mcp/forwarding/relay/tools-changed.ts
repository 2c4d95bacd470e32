const NAMES = ['tools/list_changed', String.raw`tools\/list_changed`];

/**
 * May this event say that the list of tools is another one now (MCP, `notifications/tools/list_changed`)? Some servers write
 * slashes escaped (RFC 8259 §7). It is only searched: to look the list up once too often does no harm.
 */
export function saysToolsChanged(event: Buffer): boolean {
  return NAMES.some((name) => event.includes(name));
}
