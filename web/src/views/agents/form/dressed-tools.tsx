import { useState } from 'react';
import type { McpTool } from '../../../api/mcp.js';
import { Button } from '../../../ui/button.js';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import type { SelectedTool } from './agent-draft.js';
import {
  argumentPaths,
  type ArgumentUse,
  compact,
  type DressedTool,
  textOf,
  toolOf,
  useOf,
  valueOf,
  wantedNameOf,
  withUse,
} from './selected-tools.js';

const USES: readonly { readonly value: ArgumentUse; readonly label: string }[] = [
  { value: 'shown', label: 'Callers set it' },
  { value: 'fixed', label: 'Fixed value' },
  { value: 'hidden', label: 'Not shown' },
];

/** The chosen tools with names, descriptions and arguments of the agent's own. */
export function DressedTools({
  title,
  tools,
  selected,
  onChange,
}: {
  /** Of the connection. */
  readonly title: string;
  readonly tools: readonly McpTool[];
  readonly selected: readonly SelectedTool[];
  readonly onChange: (selected: readonly SelectedTool[]) => void;
}) {
  const [chosen, setChosen] = useState('');
  // A tool stays open while nothing of its dressing is left.
  const [opened, setOpened] = useState<readonly string[]>([]);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const isPlain = (each: SelectedTool): each is string => typeof each === 'string' && !opened.includes(each);
  const plain = selected.filter(isPlain).map((name) => ({ value: name, label: name }));
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {selected.map((each, index) => {
        if (isPlain(each)) return null;
        const tool = toolOf(each);
        const earlier = selected.slice(0, index).filter((other) => toolOf(other) === tool).length;
        return (
          <DressedToolFields
            key={`${tool} ${earlier}`}
            dressed={typeof each === 'string' ? { tool } : each}
            definition={byName.get(tool)}
            onChange={(dressed) => {
              setOpened([...new Set([...opened, tool])]);
              onChange(selected.with(index, compact(dressed)));
            }}
            onRemove={() => {
              setOpened(opened.filter((name) => name !== tool));
              onChange(selected.with(index, tool));
            }}
          />
        );
      })}
      {plain.length > 0 && (
        <div className="flex flex-wrap items-end gap-2">
          <SelectField
            label={`Tool of ${title} to change`}
            className="min-w-40"
            value={chosen}
            options={[{ value: '', label: 'Choose a tool' }, ...plain]}
            onChange={setChosen}
          />
          <Button
            variant="secondary"
            size="small"
            disabled={chosen === ''}
            onClick={() => {
              setOpened([...opened, chosen]);
              setChosen('');
            }}
          >
            Change how it is offered
          </Button>
        </div>
      )}
    </div>
  );
}

function DressedToolFields({
  dressed,
  definition,
  onChange,
  onRemove,
}: {
  readonly dressed: DressedTool;
  /** Undefined if the connection does not list the tool. */
  readonly definition: McpTool | undefined;
  readonly onChange: (dressed: DressedTool) => void;
  readonly onRemove: () => void;
}) {
  const { tool, name = '', description = '', arguments: args } = dressed;
  const types = new Map(argumentPaths(definition?.inputSchema));
  const set = [...Object.keys(args?.fixed ?? {}), ...(args?.hidden ?? [])];
  const paths = [...new Set([...types.keys(), ...set])];
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-md border p-3">
      <legend className="px-1 font-mono text-[0.8125rem] break-all">{tool}</legend>
      <TextField
        label={`Name of ${tool} (optional)`}
        hint="What models and MCP clients call it. 1 to 64 of A-Z, a-z, 0-9, _ and -."
        placeholder={tool}
        pattern="[A-Za-z0-9_\-]{1,64}"
        autoComplete="off"
        value={name}
        onChange={(value) => onChange({ ...dressed, name: value })}
      />
      <TextAreaField
        label={`Description of ${tool} (optional)`}
        placeholder={definition?.description}
        maxLength={10_000}
        value={description}
        onChange={(value) => onChange({ ...dressed, description: value })}
      />
      {paths.map((path) => (
        <ArgumentFields
          key={path}
          dressed={dressed}
          path={path}
          type={types.get(path)}
          onChange={(use, value) => onChange(withUse(dressed, path, use, value))}
        />
      ))}
      <Button
        variant="ghost"
        size="small"
        className="self-start"
        aria-label={`Offer it as it is: ${wantedNameOf(dressed)}`}
        onClick={onRemove}
      >
        Offer it as it is
      </Button>
    </fieldset>
  );
}

function ArgumentFields({
  dressed,
  path,
  type,
  onChange,
}: {
  readonly dressed: DressedTool;
  readonly path: string;
  readonly type: unknown;
  readonly onChange: (use: ArgumentUse, value?: unknown) => void;
}) {
  const use = useOf(dressed, path);
  const [text, setText] = useState(() => (use === 'fixed' ? textOf(dressed.arguments?.fixed?.[path]) : ''));
  const isText = type === 'string';
  return (
    <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
      <SelectField
        label={`Argument ${path} of ${dressed.tool}`}
        value={use}
        options={USES}
        onChange={(value) => onChange(value, valueOf(text, type))}
      />
      {use === 'fixed' && (
        <TextField
          label={`Value of ${path} of ${dressed.tool}`}
          hint={isText ? undefined : 'JSON, such as 10, true or {"a": 1}.'}
          value={text}
          onChange={(value) => {
            setText(value);
            onChange('fixed', valueOf(value, type));
          }}
        />
      )}
    </div>
  );
}
