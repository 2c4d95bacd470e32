/** What is stored of a tool without its definition. */
export interface LastKnownTool {
  readonly name: string;
  /** The upstream's addresses of the page that shows its results (MCP Apps). */
  readonly pages: readonly string[];
}
