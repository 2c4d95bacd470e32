import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { ToolInput } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.js';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage, NoPermission } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { useFormStart, useTypedSince } from '../../ui/use-form-start.js';
import { DeleteConnection } from './delete-connection.js';
import {
  type Connection,
  httpDataOf,
  type HttpDraft,
  httpDraftOf,
  programDataOf,
  type ProgramDraft,
  programDraftOf,
} from './form/connection-draft.js';
import { HttpFields } from './form/http-fields.js';
import { ProgramFields } from './form/program-fields.js';

const CHANGED = ['COLLECTION_CONNECTIONS_GET', 'COLLECTION_CONNECTIONS_LIST'] as const;

/** Everything about a connection that can be changed, and its deletion. */
export function SettingsTab({ connection }: { readonly connection: Connection }) {
  const { org } = useParams({ from: '/$org' });
  const navigate = useNavigate();
  const { may } = useOrganization();
  return (
    <div className="flex max-w-3xl min-w-0 flex-col gap-4">
      {may('COLLECTION_CONNECTIONS_UPDATE') ? (
        <Settings connection={connection} />
      ) : (
        <NoPermission detail="Your role or key cannot change connections." />
      )}
      {may('COLLECTION_CONNECTIONS_DELETE') && (
        <Section title="Delete">
          <p className="text-sm text-muted-foreground">To stop its use for a while, make it inactive instead.</p>
          <div>
            <DeleteConnection
              connection={connection}
              onDeleted={() => void navigate({ to: '/$org/connections', params: { org } })}
            />
          </div>
        </Section>
      )}
    </div>
  );
}

/** Settings that all types have. */
interface CommonDraft {
  readonly title: string;
  readonly description: string;
  readonly isActive: boolean;
  readonly timeoutSeconds: string;
  readonly perMinute: string;
  readonly perCallerPerMinute: string;
  readonly honorsPublicTools: boolean;
  readonly sharesState: boolean;
  readonly pin: Connection['pin'];
}

interface SettingsDraft {
  readonly common: CommonDraft;
  readonly http: HttpDraft;
  readonly program: ProgramDraft;
}

type UpdateData = ToolInput<'COLLECTION_CONNECTIONS_UPDATE'>['data'];

const PINS: readonly { value: Connection['pin']; label: string }[] = [
  { value: 'off', label: 'Take every tool as the server lists it' },
  { value: 'warn', label: 'Mark tools that changed or are new' },
  { value: 'block', label: 'Withhold tools that changed or are new' },
];

/** Checks of the connection change it, too. The form keeps what is typed. */
function Settings({ connection }: { readonly connection: Connection }) {
  const showToast = useToast();
  const [isChanged, setIsChanged] = useState(false);
  const update = useChange('COLLECTION_CONNECTIONS_UPDATE', CHANGED);
  const isHeld = isChanged || update.isPending;
  const { start, isOutdated, formKey, restart } = useFormStart(connection, isHeld, settingsDraftOf);
  const save = async (data: UpdateData, isTyped: () => boolean): Promise<void> => {
    try {
      const { item } = await update.mutateAsync({ id: connection.id, data });
      restart(item, isTyped());
      showToast('The settings were saved.');
    } catch {
      // The form shows the error.
    }
  };
  const load = (): void => {
    update.reset();
    restart(connection);
  };
  return (
    <>
      {isOutdated && !update.isPending && <ChangedMeanwhile what="connection" onLoad={load} />}
      <SettingsForm
        key={formKey}
        connection={start}
        isBusy={update.isPending}
        error={update.error}
        onSubmit={(...submitted) => void save(...submitted)}
        onChanged={setIsChanged}
      />
    </>
  );
}

function SettingsForm({
  connection,
  isBusy,
  error,
  onSubmit,
  onChanged,
}: {
  readonly connection: Connection;
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** `isTyped` says whether the form was changed since. */
  readonly onSubmit: (data: UpdateData, isTyped: () => boolean) => void;
  /** Told whether the form differs from `connection`. */
  readonly onChanged: (isChanged: boolean) => void;
}) {
  const [draft, setDraft] = useState(() => settingsDraftOf(connection));
  const { common, http, program } = draft;
  const set = (change: Partial<CommonDraft>): void =>
    setDraft((current) => ({ ...current, common: { ...current.common, ...change } }));
  const isChanged = JSON.stringify(draft) !== JSON.stringify(settingsDraftOf(connection));
  useEffect(() => onChanged(isChanged), [isChanged, onChanged]);
  const isTyped = useTypedSince(draft);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const target = connection.stdio === null ? httpDataOf(http) : changedProgram(connection, programDataOf(program));
    onSubmit({ ...commonDataOf(common, connection), ...target }, isTyped);
  };
  return (
    <Form error={error} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      <Section title="About">
        <TextField label="Title" path="title" required value={common.title} onChange={(title) => set({ title })} />
        <TextAreaField
          label="Description (optional)"
          path="description"
          rows={2}
          value={common.description}
          onChange={(description) => set({ description })}
        />
        <CheckboxField
          label="Active"
          hint="Calls to an inactive connection are refused, and agents do without its tools."
          checked={common.isActive}
          onChange={(isActive) => set({ isActive })}
        />
      </Section>
      <Section title={connection.stdio === null ? 'Server' : 'Program'}>
        {connection.stdio === null ? (
          <HttpFields draft={http} onChange={(changed) => setDraft((current) => ({ ...current, http: changed }))} />
        ) : (
          <ProgramFields
            draft={program}
            onChange={(changed) => setDraft((current) => ({ ...current, program: changed }))}
          />
        )}
      </Section>
      <Section title="Limits and sharing">
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
          <TextField
            label="Time limit for a call, in seconds"
            path="timeout"
            type="number"
            min={1}
            max={3600}
            step="any"
            required
            value={common.timeoutSeconds}
            onChange={(timeoutSeconds) => set({ timeoutSeconds })}
          />
          <TextField
            label="Calls a minute (optional)"
            path="rate_limit.per_minute"
            type="number"
            min={1}
            hint="Of all callers together."
            value={common.perMinute}
            onChange={(perMinute) => set({ perMinute })}
          />
          <TextField
            label="Calls a minute, each caller (optional)"
            path="rate_limit.per_caller_per_minute"
            type="number"
            min={1}
            hint="Of each person and each key."
            value={common.perCallerPerMinute}
            onChange={(perCallerPerMinute) => set({ perCallerPerMinute })}
          />
        </div>
        <CheckboxField
          label="Public tools need no credential"
          hint="Some servers mark tools as public. Then everyone who can reach this service can call those."
          checked={common.honorsPublicTools}
          onChange={(honorsPublicTools) => set({ honorsPublicTools })}
        />
        <CheckboxField
          label="Callers share one session"
          hint="Then each of them sees what the others have left there, such as an open page. Otherwise each client and thread has its own."
          checked={common.sharesState}
          onChange={(sharesState) => set({ sharesState })}
        />
        <SelectField
          label="Tools that change"
          path="pin"
          hint="Switching this on approves the tools that the server lists now. Later changes are shown under “Tools”."
          value={common.pin}
          onChange={(pin) => set({ pin })}
          options={PINS}
        />
      </Section>
      <ErrorMessage error={error} />
      <div>
        <Button type="submit" isBusy={isBusy}>
          Save settings
        </Button>
      </div>
    </Form>
  );
}

function settingsDraftOf(connection: Connection): SettingsDraft {
  return {
    common: commonDraftOf(connection),
    http: httpDraftOf(connection),
    program: programDraftOf(connection),
  };
}

function commonDraftOf(connection: Connection): CommonDraft {
  return {
    title: connection.title,
    description: connection.description ?? '',
    isActive: connection.status !== 'inactive',
    timeoutSeconds: String(connection.timeout / 1000),
    perMinute: String(connection.rate_limit?.per_minute ?? ''),
    perCallerPerMinute: String(connection.rate_limit?.per_caller_per_minute ?? ''),
    honorsPublicTools: connection.public_tools === 'honor',
    sharesState: connection.shared_state,
    pin: connection.pin,
  };
}

function commonDataOf(draft: CommonDraft, { status }: Connection): UpdateData {
  return {
    title: draft.title.trim(),
    description: draft.description.trim() || null,
    // Sent only if it changed: "active" would clear the fault of a connection in the status "error".
    ...(draft.isActive !== (status !== 'inactive') && { status: draft.isActive ? ('active' as const) : 'inactive' }),
    timeout: Math.round(Number(draft.timeoutSeconds) * 1000),
    public_tools: draft.honorsPublicTools ? 'honor' : 'ignore',
    shared_state: draft.sharesState,
    pin: draft.pin,
    rate_limit: { per_minute: limitOf(draft.perMinute), per_caller_per_minute: limitOf(draft.perCallerPerMinute) },
  };
}

/** An empty limit is none. */
function limitOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}

/** Sends the program only if it changed: that needs the permission to run programs, the other settings do not. */
function changedProgram(connection: Connection, data: ReturnType<typeof programDataOf>): typeof data {
  const stored = programDataOf(programDraftOf(connection));
  return JSON.stringify(stored) === JSON.stringify(data) ? {} : data;
}
