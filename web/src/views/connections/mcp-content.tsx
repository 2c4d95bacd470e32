import { CodeBlock, JsonBlock } from '../../ui/code-block.js';

/** A part of the answer of a tool, a prompt or a resource (MCP `ContentBlock`, `ResourceContents`). */
export interface McpContent {
  readonly type?: string;
  readonly text?: string;
  readonly data?: string;
  readonly blob?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: McpContent;
}

/**
 * Pictures that a browser draws without running anything. They are shown from the answer itself, never from an address.
 */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** One part of an answer: text as it is, pictures, and everything else as JSON. */
export function McpContentView({ content, label }: { readonly content: McpContent; readonly label: string }) {
  const { type, text, data, blob, mimeType = '', resource } = content;
  if (type === 'resource' && resource !== undefined) return <McpContentView content={resource} label={label} />;
  const bytes = data ?? blob;
  if (typeof bytes === 'string' && PICTURES.has(mimeType)) {
    return (
      <img
        src={`data:${mimeType};base64,${bytes}`}
        alt={`${label}: picture that the server returned`}
        className="max-h-96 max-w-full self-start rounded-md border bg-muted object-contain"
      />
    );
  }
  if (typeof bytes === 'string') {
    const size = Math.round((bytes.length * 3) / 4);
    return (
      <p className="text-sm text-muted-foreground">
        {size} bytes of {mimeType || 'an unknown type'}, which the console does not show.
      </p>
    );
  }
  if (typeof text === 'string') return <CodeBlock label={label} text={text} />;
  return <JsonBlock label={label} value={content} />;
}

/** All parts of an answer, in their order. */
export function McpContents({ contents, label }: { readonly contents: readonly McpContent[]; readonly label: string }) {
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {contents.map((content, index) => (
        <McpContentView key={index} content={content} label={contents.length > 1 ? `${label} ${index + 1}` : label} />
      ))}
    </div>
  );
}
