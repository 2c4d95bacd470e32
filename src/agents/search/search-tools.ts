import type { CallToolResult } from '@modelcontextprotocol/client';
import { IsNotEmpty, IsObject, Length, Matches } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isRecord } from '../../core/is-record.js';
import { IsLimit } from '../../core/validation/is-limit.js';
import { MayBeAbsent } from '../../core/validation/presence.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { validateArguments } from '../../core/validation/validate-input.js';
import { METADATA_KEY } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { ToolPlace } from '../composition/composition.js';
import { CALL_TOOL, SEARCH_TOOLS } from '../composition/tool-naming.js';

const MAX_QUERY_LENGTH = 500;
const MAX_RESULTS = 50;
const DEFAULT_RESULTS = 10;
/** How much of a description a model gets before it has the definition. */
const MAX_SUMMARY_LENGTH = 200;
/** Limits the definitions of one answer, in characters of JSON. */
const MAX_DEFINITIONS_SIZE = 262_144;
const NOTHING_FOUND = 'No tool matches these words. Try others.';

class SearchToolsInput {
  @Length(1, MAX_QUERY_LENGTH)
  @Matches(/\S/, { message: 'must contain a word' })
  @JSONSchema({ description: 'What the tool does, in a few words.' })
  query: string;

  @MayBeAbsent()
  @IsLimit(MAX_RESULTS)
  @JSONSchema({ description: `How many tools to return; by default ${DEFAULT_RESULTS}.` })
  limit?: number;
}

class CallToolInput {
  @IsNotEmpty()
  @Length(1)
  @JSONSchema({ description: 'The name of the tool, as search_tools returns it.' })
  name: string;

  @MayBeAbsent()
  @IsObject()
  @JSONSchema({ description: 'The arguments of the tool, by its inputSchema.' })
  arguments?: Record<string, unknown>;
}

const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** The search as a model gets it, which calls what it has found by its own name. */
export const SEARCH_FOR_MODELS = searchTool(
  'The tools that it returns can be called by their names from the next step.',
);

/** The search as MCP clients get it, which call what they have found with `call_tool`. */
export const SEARCH_FOR_CLIENTS = searchTool(`Call the tools that it returns with ${CALL_TOOL}.`);

export const CALL_FOR_CLIENTS: UpstreamTool = {
  name: CALL_TOOL,
  title: 'Call a tool',
  description: `Calls a tool that ${SEARCH_TOOLS} has returned.`,
  inputSchema: schemaOf(CallToolInput) as UpstreamTool['inputSchema'],
};

/** A checked search. */
export interface ToolQuery {
  readonly query: string;
  readonly limit: number;
}

/** @throws DomainError `invalid_arguments` */
export function toToolQuery(args: unknown): ToolQuery {
  const { query, limit = DEFAULT_RESULTS } = validateArguments(SearchToolsInput, args);
  return { query, limit };
}

/**
 * The arguments of the call may be whatever they may be in a direct call.
 * @throws DomainError `invalid_arguments` for arguments of `call_tool` that name no call
 */
export function requireToolCall(args: unknown): { name: string } {
  const isCall = isRecord(args) && isRecord(args['arguments']);
  return validateArguments(CallToolInput, isCall ? { ...args, arguments: {} } : args);
}

/** The result for a model, which gets the definitions with its next request. */
export function toSummaries(found: readonly ToolPlace[]): CallToolResult {
  const tools = found.map((place) => ({ name: place.name, description: summaryOf(place) }));
  const text = tools.map(({ name, description }) => `${name}: ${description}`).join('\n');
  return { content: [{ type: 'text', text: text || NOTHING_FOUND }], structuredContent: { tools } };
}

/** The result for a client, with the definitions that it needs for `call_tool`. */
export function toDefinitions(found: readonly ToolPlace[]): CallToolResult {
  let left = MAX_DEFINITIONS_SIZE;
  const tools = found.flatMap(({ name, tool }) => {
    const { title, description, inputSchema, annotations, _meta } = tool?.definition ?? {};
    const pin = isRecord(_meta) && METADATA_KEY in _meta ? { _meta: { [METADATA_KEY]: _meta[METADATA_KEY] } } : {};
    const definition = { name, title, description, inputSchema, annotations, ...pin };
    const size = JSON.stringify(definition).length;
    if (size > left) return [];
    left -= size;
    return [definition];
  });
  const result = { tools, ...noteOf(found.length, tools.length) };
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
}

function noteOf(found: number, shown: number): { note?: string } {
  if (found === 0) return { note: NOTHING_FOUND };
  return shown < found
    ? { note: `${found - shown} tools were left out, because their definitions are too large.` }
    : {};
}

/** The names in a result of `toSummaries`, as it is stored; empty for any other value. */
export function namesFound(output: unknown): string[] {
  const content = isRecord(output) ? output['structuredContent'] : undefined;
  const tools: unknown = isRecord(content) ? content['tools'] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.map((tool) => (isRecord(tool) ? tool['name'] : undefined)).filter((name) => typeof name === 'string');
}

function searchTool(use: string): UpstreamTool {
  return {
    name: SEARCH_TOOLS,
    title: 'Search tools',
    description: `Finds tools by words of their names, descriptions and arguments, best first. ${use}`,
    inputSchema: schemaOf(SearchToolsInput) as UpstreamTool['inputSchema'],
    annotations: READS,
  };
}

function summaryOf({ tool, fault }: ToolPlace): string {
  if (fault !== undefined) return `(The connection "${fault.title}" is not available right now.)`;
  const { description, title } = tool?.definition ?? {};
  // Upstreams can send anything.
  const said = [description, title].find((text) => typeof text === 'string') ?? '';
  const text = said.replaceAll(/\s+/g, ' ').trim();
  return text.length <= MAX_SUMMARY_LENGTH ? text : `${text.slice(0, MAX_SUMMARY_LENGTH).toWellFormed()}…`;
}
