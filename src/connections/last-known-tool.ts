/** The scheme of pages (MCP Apps, "UI Resource Format"). Pages with another one belong to their server. */
const SCHEME = 'ui://';

/** What is stored of a tool without its definition. */
export interface LastKnownTool {
  readonly name: string;
  /** The upstream's addresses of the page that shows its results (MCP Apps). */
  readonly pages: readonly string[];
}

/** True if this is the address of a page, wherever a tool names it. */
export function isPage(uri: unknown): uri is string {
  return typeof uri === 'string' && uri.startsWith(SCHEME);
}
