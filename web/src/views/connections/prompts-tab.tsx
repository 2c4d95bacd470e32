import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type McpPrompt, useMcp, useMcpList } from '../../api/mcp.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage, Loading } from '../../ui/states.js';
import { type McpContent, McpContentView } from './mcp-content.js';
import { McpErrorState } from './mcp-error-state.js';
import { hasNone } from './resources-tab.js';

interface PromptMessages {
  readonly messages?: readonly { readonly role: string; readonly content: McpContent }[];
}

/** The message templates that a server offers, each with a form for its arguments. */
export function PromptsTab({ connectionId }: { readonly connectionId: string }) {
  const prompts = useMcpList(connectionId, 'prompts');
  if (prompts.isError && prompts.data === undefined && !hasNone(prompts.error))
    return <McpErrorState error={prompts.error} onRetry={() => void prompts.refetch()} />;
  if (prompts.isPending) return <Loading label="Loading the prompts" />;
  if (prompts.data === undefined || prompts.data.length === 0)
    return <EmptyState title="This server offers no prompts." />;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p className="text-sm text-muted-foreground">
        Prompts are message templates that MCP clients offer to people, often as slash commands.
      </p>
      {prompts.data.map((prompt) => (
        <Prompt key={prompt.name} connectionId={connectionId} prompt={prompt} />
      ))}
    </div>
  );
}

function Prompt({ connectionId, prompt }: { readonly connectionId: string; readonly prompt: McpPrompt }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const request = useMcp(connectionId);
  const get = useMutation({
    mutationFn: () => {
      const given = Object.entries(values).filter(([, value]) => value !== '');
      return request<PromptMessages>('prompts/get', { name: prompt.name, arguments: Object.fromEntries(given) });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    get.mutate();
  };
  return (
    <Section title={prompt.title ?? prompt.name}>
      {prompt.description && <p className="text-sm break-words">{prompt.description}</p>}
      <form onSubmit={submit} aria-label={`Get ${prompt.name}`} className="flex min-w-0 flex-col gap-3">
        {prompt.arguments?.map(({ name, description, required = false }) => (
          <TextField
            key={name}
            label={required ? name : `${name} (optional)`}
            hint={description}
            required={required}
            value={values[name] ?? ''}
            onChange={(value) => setValues({ ...values, [name]: value })}
          />
        ))}
        <Button type="submit" variant="secondary" size="small" className="self-start" isBusy={get.isPending}>
          Get prompt
        </Button>
      </form>
      <div aria-live="polite" className="flex min-w-0 flex-col gap-2">
        <ErrorMessage error={get.error} />
        {get.data?.messages?.map(({ role, content }, index) => (
          <div key={index} className="flex min-w-0 flex-col gap-1">
            <span>
              <Badge>{role}</Badge>
            </span>
            <McpContentView content={content} label={`Message ${index + 1} of ${prompt.name}`} />
          </div>
        ))}
      </div>
    </Section>
  );
}
