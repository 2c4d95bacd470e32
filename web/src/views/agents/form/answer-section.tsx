import { CheckboxField, TextAreaField, TextField } from '../../../ui/field.js';
import { Section } from '../../../ui/page.js';
import type { AgentDraft } from './agent-draft.js';

/** In which form the agent answers. */
export function AnswerSection({
  draft,
  fault,
  set,
}: {
  readonly draft: AgentDraft;
  /** What is wrong with the schema. */
  readonly fault: string | undefined;
  readonly set: (change: Partial<AgentDraft>) => void;
}) {
  return (
    <Section title="Answer">
      <TextAreaField
        label="Output schema (optional)"
        rows={8}
        isCode
        placeholder='{ "type": "object", "properties": { "part": { "type": "string" } }, "required": ["part"] }'
        hint="A JSON Schema. The last answer of each run is then one JSON object that is valid against it: the output."
        error={fault}
        value={draft.outputSchema}
        onChange={(outputSchema) => set({ outputSchema })}
      />
      <CheckboxField
        label="Send the output to webhooks"
        hint="Otherwise they only learn that there is one."
        checked={draft.webhookOutput}
        onChange={(webhookOutput) => set({ webhookOutput })}
      />
      <CheckboxField
        label="Offer the agent as a tool"
        hint="MCP clients of its endpoint can then ask it: the tool “ask” runs the agent and returns its answer."
        checked={draft.exposeRun}
        onChange={(exposeRun) => set({ exposeRun })}
      />
      {draft.exposeRun && (
        <TextField
          label="Longest wait for the answer (seconds)"
          inputMode="numeric"
          placeholder="600"
          hint="Of clients without MCP tasks. The run is then cancelled."
          value={draft.askTimeout}
          onChange={(askTimeout) => set({ askTimeout })}
        />
      )}
    </Section>
  );
}
