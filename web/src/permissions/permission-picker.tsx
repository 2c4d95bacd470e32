import { JsonBlock } from '../ui/code-block.js';
import { CheckboxField } from '../ui/field.js';
import type { PermissionMap } from '../session/session.js';
import { type Ability, ABILITY_GROUPS, type AbilityGroup, unknownNames } from './abilities.js';
import { ANY, grant, heldOf, SELF, toolsOf, withdraw } from './permission-map.js';
import { PermissionWords } from './permission-words.js';
import { ResourcePermissions } from './resource-permissions.js';

interface PickerProps {
  readonly permissions: PermissionMap;
  readonly onChange: (permissions: PermissionMap) => void;
}

/**
 * Chooses permissions in words: tools of connections and agents, and what can be managed. Shows the result as it
 * stands.
 */
export function PermissionPicker({ permissions, onChange, subject }: PickerProps & { readonly subject: string }) {
  return (
    <div className="grid min-w-0 grid-cols-1 gap-4 lg:grid-cols-[3fr_2fr]">
      <div className="flex min-w-0 flex-col gap-4">
        <ResourcePermissions permissions={permissions} onChange={onChange} />
        <ManagementPermissions permissions={permissions} onChange={onChange} />
      </div>
      <section
        aria-label="In words"
        aria-live="polite"
        className="flex min-w-0 flex-col gap-3 self-start rounded-md bg-muted/60 p-3"
      >
        <PermissionWords permissions={permissions} subject={subject} />
        <details>
          <summary className="cursor-pointer text-sm">Show as JSON</summary>
          <div className="pt-2">
            <JsonBlock value={permissions} label="Permissions as JSON" />
          </div>
        </details>
      </section>
    </div>
  );
}

function ManagementPermissions({ permissions, onChange }: PickerProps) {
  const isEverything = toolsOf(permissions, SELF).includes(ANY);
  const others = unknownNames(permissions);
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="pb-1 font-medium">Management</legend>
      <CheckboxField
        label="Everything, also what later versions add"
        checked={isEverything}
        onChange={(checked) => onChange((checked ? grant : withdraw)(permissions, SELF, [ANY]))}
      />
      {!isEverything &&
        ABILITY_GROUPS.map((group) => (
          <AbilityGroupFields key={group.title} group={group} permissions={permissions} onChange={onChange} />
        ))}
      {!isEverything &&
        others.map((name) => (
          <CheckboxField
            key={name}
            label={<code>{name}</code>}
            checked
            onChange={() => onChange(withdraw(permissions, SELF, [name]))}
          />
        ))}
    </fieldset>
  );
}

function AbilityGroupFields({ group, permissions, onChange }: PickerProps & { readonly group: AbilityGroup }) {
  const held = group.abilities.filter(({ names }) => heldOf(permissions, SELF, names) !== 'none').length;
  return (
    <details className="rounded-md border">
      <summary className="cursor-pointer px-3 py-1.5">
        <span>{group.title}</span>
        <span className="float-right text-[0.8125rem] text-muted-foreground">
          {held === 0 ? 'none' : `${held} of ${group.abilities.length}`}
        </span>
      </summary>
      <div className="flex flex-col gap-2 border-t p-3">
        {group.abilities.map((ability) => (
          <AbilityField key={ability.words} ability={ability} permissions={permissions} onChange={onChange} />
        ))}
      </div>
    </details>
  );
}

function AbilityField({ ability, permissions, onChange }: PickerProps & { readonly ability: Ability }) {
  const { words, names, caution } = ability;
  const held = heldOf(permissions, SELF, names);
  return (
    <CheckboxField
      label={`${words.charAt(0).toUpperCase()}${words.slice(1)}`}
      hint={
        <>
          {caution && <span className="text-warning">{caution} </span>}
          {held === 'some' && 'Held in part. '}
          <span className="font-mono text-xs break-all">{names.join(', ')}</span>
        </>
      }
      checked={held === 'all'}
      onChange={(checked) => onChange((checked ? grant : withdraw)(permissions, SELF, names))}
    />
  );
}
