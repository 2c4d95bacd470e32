/** Changes to the arguments of a tool. Paths are JSON Pointers (RFC 6901) of argument names, such as `/filter/repo`. */
interface DressedArguments {
  /** Values that every call has, by path. Callers neither see nor set these arguments. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Arguments that callers neither see nor set. */
  readonly hidden?: readonly string[];
}

/** A selected tool with a name, a description or arguments that the agent gives it. */
export interface DressedTool {
  /** The upstream's own name, or the name in the nested agent. */
  readonly tool: string;
  /** By default `tool`. */
  readonly name?: string;
  /** By default the upstream's. */
  readonly description?: string;
  readonly arguments?: DressedArguments;
}

/** A tool that an agent selects of a connection. */
export type SelectedTool = string | DressedTool;

/** The name under which the connection has the tool. */
export function toolOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : selected.tool;
}

/** The name that the agent wants for the tool. */
export function wantedNameOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : (selected.name ?? selected.tool);
}
