import { useMemo } from 'react';
import { useOrganization } from '../session/organization.js';
import { CodeBlock } from '../ui/code-block.js';
import { jsonOf } from '../ui/json-table.js';
import { JsonView } from '../ui/json-view.js';
import { FilePart } from './file-part.js';
import { ownFileOf } from './own-file.js';

/** Pictures that cannot hold a script or an address. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The result of a tool: the text, pictures and stored files of an MCP result, and JSON as a table or a tree. */
export function ToolOutput({ output, toolName }: { readonly output: unknown; readonly toolName: string }) {
  const label = `Result of ${toolName}`;
  const result = asToolResult(output);
  if (result === undefined) return <JsonView value={output} label={label} />;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {result.content.map((block, index) => (
        // The blocks of a result never change.
        <Block key={index} block={block} label={index === 0 ? label : `${label}, part ${index + 1}`} />
      ))}
      {result.structuredContent !== undefined && (
        <JsonView value={result.structuredContent} label={`${label}, structured`} />
      )}
    </div>
  );
}

function Block({ block, label }: { readonly block: Readonly<Record<string, unknown>>; readonly label: string }) {
  const { slug } = useOrganization();
  const { type, text, data, mimeType, uri, name } = block;
  const json = useMemo(() => (type === 'text' && typeof text === 'string' ? jsonOf(text) : undefined), [type, text]);
  if (type === 'text' && typeof text === 'string') {
    return json === undefined ? (
      <CodeBlock text={text} label={label} />
    ) : (
      <JsonView value={json} text={text} label={label} />
    );
  }
  const isFile = type === 'resource_link' && typeof uri === 'string' && ownFileOf(uri, slug) !== undefined;
  if (isFile && typeof mimeType === 'string') {
    return <FilePart file={{ mediaType: mimeType, url: uri, ...(typeof name === 'string' && { filename: name }) }} />;
  }
  const isPicture = type === 'image' && typeof data === 'string' && typeof mimeType === 'string';
  if (isPicture && PICTURES.has(mimeType) && BASE64.test(data)) {
    return (
      <img
        src={`data:${mimeType};base64,${data}`}
        alt={label}
        className="max-h-80 max-w-full self-start rounded-md border object-contain"
      />
    );
  }
  return <JsonView value={block} label={label} />;
}

interface ToolResult {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
}

function asToolResult(output: unknown): ToolResult | undefined {
  if (typeof output !== 'object' || output === null || !('content' in output)) return undefined;
  const { content } = output;
  const isBlocks = Array.isArray(content) && content.every((block) => typeof block === 'object' && block !== null);
  return isBlocks ? (output as ToolResult) : undefined;
}
