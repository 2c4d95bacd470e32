import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useChange, useTool } from '../../api/queries.js';
import { toInput, withChanges } from '../../permissions/permission-map.js';
import { PermissionPicker } from '../../permissions/permission-picker.js';
import { PermissionSummary } from '../../permissions/permission-summary.js';
import { useOrganization } from '../../session/organization.js';
import type { PermissionMap } from '../../session/session.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Section } from '../../ui/page.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { useEdited } from './use-edited.js';

type Role = ToolOutput<'ROLE_LIST'>['items'][number];

/** The built-in roles and those of the organization. */
export function RolesSection() {
  const { may } = useOrganization();
  const { data, error, refetch } = useTool('ROLE_LIST', {});
  const custom = data?.items.filter((role) => !role.built_in) ?? [];
  const [edited, setEdited] = useEdited(custom, ({ name }) => name);
  const remove = useChange('ROLE_DELETE', ['ROLE_LIST']);
  const columns: readonly Column<Role>[] = [
    {
      header: 'Role',
      cell: ({ name, built_in: isBuiltIn }) => (
        <span className="font-medium break-words">
          {name} {isBuiltIn && <Badge>built in</Badge>}
        </span>
      ),
    },
    {
      header: 'Can',
      cell: ({ name, permissions }) =>
        name === 'member' ? (
          'what the organization lets every member do'
        ) : (
          <PermissionSummary permissions={permissions} />
        ),
    },
    {
      header: 'Actions',
      isBelow: true,
      cell: (role) =>
        !role.built_in && (
          <div className="flex flex-wrap gap-2">
            {may('ROLE_UPDATE') && (
              <Button variant="secondary" size="small" aria-label={`Edit ${role.name}`} onClick={() => setEdited(role)}>
                Edit
              </Button>
            )}
            {may('ROLE_DELETE') && (
              <ConfirmButton
                label="Delete role"
                size="small"
                title={`Delete the role “${role.name}”?`}
                onConfirm={() => remove.mutateAsync({ name: role.name })}
              >
                <p>A role that a member or an invitation has cannot be deleted.</p>
              </ConfirmButton>
            )}
          </div>
        ),
    },
  ];
  return (
    <Section
      title="Roles"
      actions={may('ROLE_CREATE') && <Button onClick={() => setEdited('new')}>Create role</Button>}
    >
      <p className="text-sm text-muted-foreground">
        A role says what its members can do, next to what the organization lets every member do.
      </p>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && <DataTable label="Roles" columns={columns} rows={data.items} keyOf={({ name }) => name} />}
      {edited !== undefined && may(edited === 'new' ? 'ROLE_CREATE' : 'ROLE_UPDATE') && (
        <RoleDialog role={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Section>
  );
}

function RoleDialog({ role, onClose }: { readonly role: Role | undefined; readonly onClose: () => void }) {
  const [name, setName] = useState(role?.name ?? '');
  const [start] = useState<PermissionMap>(role?.permissions ?? {});
  const [permissions, setPermissions] = useState(start);
  const { client } = useOrganization();
  const create = useChange('ROLE_CREATE', ['ROLE_LIST']);
  const update = useChange('ROLE_UPDATE', ['ROLE_LIST']);
  const say = useToast();
  return (
    <FormDialog
      title={role === undefined ? 'Create role' : `Role “${role.name}”`}
      submitLabel={role === undefined ? 'Create role' : 'Save role'}
      className="w-[min(64rem,94vw)]"
      onClose={onClose}
      onSubmit={async () => {
        if (role === undefined) await create.mutateAsync({ name: name.trim(), permissions: toInput(permissions) });
        else {
          const { items } = await client.tool('ROLE_LIST', {});
          const stored = items.find((each) => each.name === role.name)?.permissions ?? start;
          const changed = withChanges(stored, start, permissions);
          await update.mutateAsync({ name: role.name, permissions: toInput(changed) });
        }
        say(role === undefined ? 'The role was created.' : 'The role was changed. It counts within a second.');
      }}
    >
      {role === undefined && (
        <TextField
          label="Name"
          path="name"
          required
          maxLength={64}
          placeholder="operator"
          value={name}
          onChange={setName}
          autoFocus
        />
      )}
      <PermissionPicker permissions={permissions} onChange={setPermissions} subject="A member with this role" />
    </FormDialog>
  );
}
