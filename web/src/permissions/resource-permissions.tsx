import { useState } from 'react';
import { useMcpList } from '../api/mcp.js';
import { PickerField } from '../pick/picker-field.js';
import { type Choice, useChoicesById } from '../pick/choices.js';
import type { PermissionMap } from '../session/session.js';
import { Button } from '../ui/button.js';
import { CheckboxField } from '../ui/field.js';
import { ErrorMessage } from '../ui/states.js';
import { ANY, grant, replace, resourcesOf, toolsOf, withdraw } from './permission-map.js';

interface ResourceProps {
  readonly permissions: PermissionMap;
  readonly onChange: (permissions: PermissionMap) => void;
}

/** Chooses which tools of which connections and agents can be called. */
export function ResourcePermissions({ permissions, onChange }: ResourceProps) {
  const isEverywhere = toolsOf(permissions, ANY).includes(ANY);
  /** Connections and agents that were added here; without a tool they are no part of the map yet. */
  const [added, setAdded] = useState<readonly string[]>([]);
  const resources = [...new Set([...resourcesOf(permissions), ...added])];
  const names = useChoicesById('resource', resources);
  const remove = (id: string): void => {
    setAdded(added.filter((each) => each !== id));
    onChange(replace(permissions, id, []));
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="pb-1 font-medium">Tools of connections and agents</legend>
      <CheckboxField
        label="Call all tools of every connection and agent"
        hint="Also of those that are connected later."
        checked={isEverywhere}
        onChange={(checked) => onChange(replace(permissions, ANY, checked ? [ANY] : []))}
      />
      {resources.map((id) => (
        <ResourceTools
          key={id}
          id={id}
          choice={names.get(id)}
          permissions={permissions}
          onChange={onChange}
          onRemove={() => remove(id)}
        />
      ))}
      {!isEverywhere && (
        <PickerField
          label="Add the tools of"
          kind="resource"
          value=""
          emptyLabel="Choose a connection or an agent"
          onChange={(id) => {
            if (id === '') return;
            setAdded([...added, id]);
            onChange(grant(permissions, id, [ANY]));
          }}
        />
      )}
    </fieldset>
  );
}

function ResourceTools({
  id,
  choice,
  permissions,
  onChange,
  onRemove,
}: ResourceProps & { readonly id: string; readonly choice: Choice | undefined; readonly onRemove: () => void }) {
  const held = toolsOf(permissions, id);
  const isAll = held.includes(ANY);
  const name = choice?.label ?? id;
  return (
    <fieldset className="flex min-w-0 flex-col gap-2 rounded-md border p-3">
      <legend className="px-1 text-sm font-medium break-words">
        {name} {choice?.note && <span className="font-normal text-muted-foreground">{choice.note}</span>}
      </legend>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <CheckboxField
          label="All tools"
          checked={isAll}
          onChange={(checked) => onChange(replace(permissions, id, checked ? [ANY] : []))}
        />
        <Button variant="ghost" size="small" aria-label={`Remove ${name}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
      {!isAll && <SingleTools id={id} permissions={permissions} onChange={onChange} />}
    </fieldset>
  );
}

function SingleTools({ id, permissions, onChange }: ResourceProps & { readonly id: string }) {
  const { data: tools = [], isPending, error } = useMcpList(id, 'tools');
  const held = toolsOf(permissions, id);
  // A tool that is granted may be gone for the moment.
  const names = [...new Set([...tools.map(({ name }) => name), ...held])];
  return (
    <div className="flex max-h-64 flex-col gap-1.5 overflow-y-auto">
      {isPending && <p className="text-sm text-muted-foreground">Asking for the tools…</p>}
      <ErrorMessage error={error} />
      {!isPending && names.length === 0 && <p className="text-sm text-muted-foreground">It lists no tools.</p>}
      {names.map((name) => (
        <CheckboxField
          key={name}
          label={<code className="text-[0.8125rem] break-all">{name}</code>}
          checked={held.includes(name)}
          onChange={(checked) => onChange((checked ? grant : withdraw)(permissions, id, [name]))}
        />
      ))}
    </div>
  );
}
