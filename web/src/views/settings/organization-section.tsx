import { type FormEvent, useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useChange, useTool } from '../../api/queries.js';
import { toInput, withChanges } from '../../permissions/permission-map.js';
import { PermissionPicker } from '../../permissions/permission-picker.js';
import { PermissionWords } from '../../permissions/permission-words.js';
import { useOrganization } from '../../session/organization.js';
import type { PermissionMap } from '../../session/session.js';
import { Button } from '../../ui/button.js';
import { CheckboxField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Facts, Section } from '../../ui/page.js';
import { ErrorMessage, ErrorState, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';
import { ModelRecordingForm } from './model-recording-form.js';
import { RunAccessForm } from './run-access-form.js';

type Organization = ToolOutput<'ORGANIZATION_GET'>['item'];

/** Name, what every member can do, who can run agents, and what is recorded. */
export function OrganizationSection() {
  const { may } = useOrganization();
  const { data, error, refetch } = useTool('ORGANIZATION_GET', {}, { isEnabled: may('ORGANIZATION_GET') });
  return (
    <>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {may('ORGANIZATION_GET') && !error && !data && <Loading />}
      {data && (
        <>
          <NameForm organization={data.item} />
          <RunAccessForm key={data.item.run_access} stored={data.item.run_access} />
          <MemberPermissions organization={data.item} />
          <ModelRecordingForm key={data.item.model_recording} stored={data.item.model_recording} />
        </>
      )}
      {may('AUDIT_SETTINGS_GET') && <Recording />}
    </>
  );
}

function NameForm({ organization }: { readonly organization: Organization }) {
  const { may } = useOrganization();
  const [name, setName] = useState(organization.name);
  const say = useToast();
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET'], () => say('The name was saved.'));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate({ name: name.trim() });
  };
  return (
    <Section title="Organization">
      <Facts
        items={[
          ['Short name', <code key="slug">{organization.slug}</code>],
          ['Created', <Time key="created" value={organization.created_at} />],
        ]}
      />
      <p className="text-[0.8125rem] text-muted-foreground">
        The short name is part of every address and never changes.
      </p>
      <Form error={update.error} onSubmit={submit} className="flex flex-wrap items-end gap-3">
        <TextField
          label="Name"
          path="name"
          required
          maxLength={128}
          className="min-w-56 flex-1"
          disabled={!may('ORGANIZATION_UPDATE')}
          value={name}
          onChange={setName}
        />
        {may('ORGANIZATION_UPDATE') && (
          <Button type="submit" disabled={name.trim() === organization.name} isBusy={update.isPending}>
            Save name
          </Button>
        )}
      </Form>
      <ErrorMessage error={update.error} />
    </Section>
  );
}

function MemberPermissions({ organization }: { readonly organization: Organization }) {
  const { client, may } = useOrganization();
  const [start, setStart] = useState<PermissionMap>({});
  const [permissions, setPermissions] = useState<PermissionMap>();
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET']);
  const say = useToast();
  const edit = (): void => {
    setStart(organization.member_permissions);
    setPermissions(organization.member_permissions);
  };
  return (
    <Section
      title="What every member can do"
      actions={
        may('ORGANIZATION_UPDATE') && (
          <Button variant="secondary" onClick={edit}>
            Edit permissions
          </Button>
        )
      }
    >
      <PermissionWords permissions={organization.member_permissions} subject="Every member" />
      {permissions !== undefined && (
        <FormDialog
          title="What every member can do"
          description="Whatever the role. Owners and admins can do everything in any case."
          submitLabel="Save permissions"
          className="w-[min(64rem,94vw)]"
          onClose={() => setPermissions(undefined)}
          onSubmit={async () => {
            const { item } = await client.tool('ORGANIZATION_GET', {});
            const changed = withChanges(item.member_permissions, start, permissions);
            await update.mutateAsync({ member_permissions: toInput(changed) });
            say('The permissions were saved. They count within a second.');
          }}
        >
          <PermissionPicker permissions={permissions} onChange={setPermissions} subject="Every member" />
        </FormDialog>
      )}
    </Section>
  );
}

function Recording() {
  const { may } = useOrganization();
  const { data, error, refetch } = useTool('AUDIT_SETTINGS_GET', {});
  const say = useToast();
  const update = useChange('AUDIT_SETTINGS_UPDATE', ['AUDIT_SETTINGS_GET'], ({ content }) =>
    say(content ? 'Arguments and results are recorded from now on.' : 'They are no longer recorded.'),
  );
  return (
    <Section title="Record of tool calls">
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && (
        <CheckboxField
          label="Record arguments and results"
          hint="Who called which tool, when, and how it ended is always on record. With this, what was sent and what came back is too; values whose names look like secrets are left out."
          checked={data.content}
          disabled={!may('AUDIT_SETTINGS_UPDATE') || update.isPending}
          onChange={(content) => update.mutate({ content })}
        />
      )}
      <ErrorMessage error={update.error} />
    </Section>
  );
}
