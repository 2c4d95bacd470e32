import { TextAreaField, TextField } from '../../../ui/field.js';
import type { ProgramDraft } from './connection-draft.js';
import { PairFields } from './pair-fields.js';

/** The fields of a program that speaks MCP on its standard input and output. */
export function ProgramFields({
  draft,
  onChange,
}: {
  readonly draft: ProgramDraft;
  readonly onChange: (draft: ProgramDraft) => void;
}) {
  const set = (change: Partial<ProgramDraft>): void => onChange({ ...draft, ...change });
  return (
    <>
      <TextField
        label="Command"
        path="stdio.command"
        required
        placeholder="npx"
        autoComplete="off"
        hint="One of the commands that the operator allows (STDIO_COMMANDS), such as npx. It runs on the server, without a shell."
        value={draft.command}
        onChange={(command) => set({ command })}
      />
      <TextAreaField
        label="Arguments (optional)"
        path="stdio.args"
        isCode
        rows={3}
        placeholder={'-y\n@modelcontextprotocol/server-memory'}
        hint="One per line. Everybody who can read the connection sees them: put secrets into variables."
        value={draft.args}
        onChange={(args) => set({ args })}
      />
      <PairFields
        label="Environment variables"
        noun="variable"
        hint="The values are stored encrypted and shown as ***."
        pairs={draft.env}
        onChange={(env) => set({ env })}
      />
      <TextField
        label="Working directory (optional)"
        path="stdio.cwd"
        placeholder="/"
        autoComplete="off"
        hint="An absolute path on the server."
        value={draft.cwd}
        onChange={(cwd) => set({ cwd })}
      />
    </>
  );
}
