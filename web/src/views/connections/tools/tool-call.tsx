import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { McpError, type McpTool, useMcp } from '../../../api/mcp.js';
import { StateBadge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { JsonBlock } from '../../../ui/code-block.js';
import { TextAreaField } from '../../../ui/field.js';
import { ErrorMessage } from '../../../ui/states.js';
import { formatDuration } from '../../../ui/format.js';
import { type McpContent, McpContents } from '../mcp-content.js';
import { SignInLink } from '../mcp-error-state.js';
import { type Draft, type DraftErrors, argumentsOf, draftOf } from './draft-value.js';
import { MemberFields } from './schema-field.js';

interface ToolResult {
  readonly content?: readonly McpContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** A form made of a tool's input schema, and the result of the last call. */
export function ToolCall({ connectionId, tool }: { readonly connectionId: string; readonly tool: McpTool }) {
  const schema = tool.inputSchema ?? {};
  const [draft, setDraft] = useState<Draft>(() => draftOf(schema, schema));
  const [json, setJson] = useState<string>();
  const [errors, setErrors] = useState<DraftErrors>(new Map());
  const request = useMcp(connectionId);
  const call = useMutation({
    mutationFn: async (args: unknown) => {
      const start = performance.now();
      const result = await request<ToolResult>('tools/call', { name: tool.name, arguments: args });
      return { result, durationMs: performance.now() - start };
    },
  });

  const readArguments = (found: DraftErrors): unknown =>
    json === undefined ? argumentsOf(schema, draft, found) : parsed(json, found);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found: DraftErrors = new Map();
    const args = readArguments(found) ?? {};
    setErrors(found);
    if (found.size === 0) call.mutate(args);
  };
  const toggleJson = (): void => {
    const found: DraftErrors = new Map();
    const args = readArguments(found);
    if (json === undefined) {
      setJson(JSON.stringify(args ?? {}, null, 2));
      setErrors(new Map());
    } else if (found.size === 0) {
      setDraft(draftOf(schema, schema, args));
      setJson(undefined);
      setErrors(new Map());
    } else setErrors(found);
  };

  return (
    <div className="flex min-w-0 flex-col gap-4">
      <form onSubmit={submit} noValidate aria-label={`Call ${tool.name}`} className="flex min-w-0 flex-col gap-3">
        {json === undefined ? (
          <MemberFields
            label="arguments"
            schema={schema}
            root={schema}
            isRequired
            draft={draft}
            onChange={setDraft}
            errors={errors}
            path=""
            depth={0}
          />
        ) : (
          <TextAreaField
            label="Arguments, as JSON"
            isCode
            rows={8}
            value={json}
            onChange={setJson}
            error={errors.get('')}
          />
        )}
        <div className="flex flex-wrap gap-2">
          <Button type="submit" isBusy={call.isPending}>
            Call tool
          </Button>
          <Button variant="secondary" onClick={toggleJson}>
            {json === undefined ? 'Edit as JSON' : 'Edit as form'}
          </Button>
        </div>
      </form>
      <div aria-live="polite" className="flex min-w-0 flex-col gap-2">
        {call.isPending && <p className="text-sm text-muted-foreground">Calling {tool.name}…</p>}
        <ErrorMessage error={call.error} />
        {call.error instanceof McpError && call.error.authorizationUrl !== undefined && (
          <SignInLink url={call.error.authorizationUrl} />
        )}
        {call.data && <Result {...call.data} />}
      </div>
    </div>
  );
}

function Result({ result, durationMs }: { readonly result: ToolResult; readonly durationMs: number }) {
  const { content = [], structuredContent, isError = false } = result;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="font-medium">Result</h3>
        <StateBadge state={isError ? 'failed' : 'ready'}>
          {isError ? 'the tool reported an error' : 'success'}
        </StateBadge>
        <span className="text-sm text-muted-foreground">{formatDuration(durationMs)}</span>
      </div>
      {content.length > 0 && <McpContents contents={content} label="Result of the tool" />}
      {structuredContent !== undefined && <JsonBlock label="Structured result" value={structuredContent} />}
      {content.length === 0 && structuredContent === undefined && (
        <p className="text-sm text-muted-foreground">The tool returned nothing.</p>
      )}
    </>
  );
}

function parsed(text: string, errors: DraftErrors): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    errors.set('', 'The arguments must be a JSON object.');
  } catch (error) {
    errors.set('', `This is not JSON: ${(error as Error).message}`);
  }
  return undefined;
}
