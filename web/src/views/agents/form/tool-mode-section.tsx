import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { SignalboxError } from '../../../../../packages/client/src/signalbox-error.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { Section } from '../../../ui/page.js';
import { formatNumber } from '../../../ui/format.js';
import type { AgentDraft } from './agent-draft.js';

export type DefinitionTokens = ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'>['definition_tokens'];

const MODES = [
  { value: 'all', label: 'All tools' },
  { value: 'search', label: 'A search for tools' },
  { value: 'auto', label: 'A search if there are many' },
] as const;

const HINTS: Readonly<Record<AgentDraft['toolMode'], string>> = {
  all: 'The definitions of all tools go to the model with each request.',
  search: 'The model searches, and gets the definitions of what it finds. Slower by a step, cheaper with many tools.',
  auto: 'A search above 40 tools or 10,000 tokens of definitions, otherwise all tools.',
};

/** How the agent offers its tools, and what that costs. */
export function ToolModeSection({
  draft: { toolMode, pinnedTools },
  set,
  tokens,
  error,
}: {
  readonly draft: AgentDraft;
  readonly set: (change: Partial<AgentDraft>) => void;
  readonly tokens: DefinitionTokens | undefined;
  readonly error: Error | null;
}) {
  return (
    <Section title="Many tools">
      {tokens && (
        <p className="text-sm text-muted-foreground">
          The definitions of all tools take about {formatNumber(tokens.all)} tokens of each request to the model, those
          of the search and the pinned tools about {formatNumber(tokens.search)}.
        </p>
      )}
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <SelectField
          label="What the model gets"
          hint={HINTS[toolMode]}
          value={toolMode}
          options={MODES}
          onChange={(mode) => set({ toolMode: mode })}
        />
        <TextField
          label="Pinned tools (optional)"
          hint="Names of tools that need no search, separated by commas, as the overview lists them."
          autoComplete="off"
          spellCheck={false}
          value={pinnedTools}
          error={errorOfPinned(error)}
          onChange={(names) => set({ pinnedTools: names })}
        />
      </div>
    </Section>
  );
}

function errorOfPinned(error: Error | null): string | undefined {
  if (!(error instanceof SignalboxError)) return undefined;
  return error.errors.find(({ path }) => path.startsWith('data.pinned_tools'))?.message;
}
