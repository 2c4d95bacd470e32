import type { JsonSchema } from '../../../api/json-schema.js';
import type { SelectedTool } from './agent-draft.js';

/** A selected tool with a name, a description or arguments of the agent's own. */
export type DressedTool = Exclude<SelectedTool, string>;
/** Who sets an argument: callers, the agent, or nobody. */
export type ArgumentUse = 'shown' | 'fixed' | 'hidden';

/** The connection's own name of a selected tool. */
export function toolOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : selected.tool;
}

/** The name that the agent wants for the tool. */
export function wantedNameOf(selected: SelectedTool): string {
  return typeof selected === 'string' ? selected : (selected.name ?? selected.tool);
}

/** The selection with exactly the tools of these names; those that are dressed stay so. */
export function withTools(selected: readonly SelectedTool[], names: readonly string[]): readonly SelectedTool[] {
  const wanted = new Set(names);
  const kept = selected.filter((each) => wanted.has(toolOf(each)));
  const known = new Set(kept.map(toolOf));
  return [...kept, ...names.filter((name) => !known.has(name))];
}

/** The dressed tool without what is empty; its name if nothing is left. */
export function compact({ tool, name, description, arguments: args }: DressedTool): SelectedTool {
  const { fixed = {}, hidden = [] } = args ?? {};
  const uses = {
    ...(Object.keys(fixed).length > 0 && { fixed }),
    ...(hidden.length > 0 && { hidden }),
  };
  const dressed = {
    ...(name && { name }),
    ...(description && { description }),
    ...(Object.keys(uses).length > 0 && { arguments: uses }),
  };
  return Object.keys(dressed).length === 0 ? tool : { tool, ...dressed };
}

/** Who sets the argument at the path. */
export function useOf({ arguments: args }: DressedTool, path: string): ArgumentUse {
  if (args?.fixed !== undefined && Object.hasOwn(args.fixed, path)) return 'fixed';
  return args?.hidden?.includes(path) === true ? 'hidden' : 'shown';
}

/** The tool with another use of the argument at the path. @param value of a fixed argument */
export function withUse(dressed: DressedTool, path: string, use: ArgumentUse, value: unknown = ''): DressedTool {
  const { fixed = {}, hidden = [] } = dressed.arguments ?? {};
  const others = Object.fromEntries(Object.entries(fixed).filter(([each]) => each !== path));
  const otherHidden = hidden.filter((each) => each !== path);
  return {
    ...dressed,
    arguments: {
      fixed: use === 'fixed' ? { ...others, [path]: value } : others,
      hidden: use === 'hidden' ? [...otherHidden, path] : otherHidden,
    },
  };
}

/** The paths of the arguments of a tool, as JSON Pointers, with their types. */
export function argumentPaths(schema: JsonSchema | undefined, prefix = ''): readonly [path: string, type: unknown][] {
  const properties = Object.entries((schema?.['properties'] ?? {}) as Record<string, JsonSchema>);
  return properties.flatMap(([name, property]) => {
    const path = `${prefix}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return [[path, property['type']] as [string, unknown], ...argumentPaths(property, path)];
  });
}

/** The value of what is typed for an argument: text as it is, any other type as JSON. */
export function valueOf(text: string, type: unknown): unknown {
  if (type === 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What is typed for a value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
