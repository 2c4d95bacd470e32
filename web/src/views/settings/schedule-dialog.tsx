import { Cron } from 'croner';
import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { changesOf } from '../../api/changes-of.js';
import { useChange } from '../../api/queries.js';
import { PickerField } from '../../pick/picker-field.js';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { SearchSelect } from '../../ui/search-select.js';
import { useToast } from '../../ui/toast.js';
import { cronInWords } from './cron-words.js';

type Schedule = ListItem<'SCHEDULE_LIST'>;

const EXAMPLES = [
  { value: '0 9 * * 1-5', label: 'Monday to Friday at 09:00' },
  { value: '0 7 * * *', label: 'Every day at 07:00' },
  { value: '0 * * * *', label: 'Every hour' },
  { value: '*/15 * * * *', label: 'Every 15 minutes' },
  { value: '0 8 1 * *', label: 'On the first of each month at 08:00' },
  { value: 'own', label: 'Another time…' },
] as const;

const TIERS = [
  { value: '', label: 'As the agent has it' },
  { value: 'fast', label: 'Fast' },
  { value: 'smart', label: 'Smart' },
  { value: 'thinking', label: 'Thinking' },
] as const;

const OVERLAPS = [
  { value: 'skip', label: 'Leave this time out' },
  { value: 'queue', label: 'Run after it' },
] as const;

/** Creates a schedule, or changes one. */
export function ScheduleDialog({
  schedule,
  onClose,
}: {
  readonly schedule: Schedule | undefined;
  readonly onClose: () => void;
}) {
  const [title, setTitle] = useState(schedule?.title ?? '');
  const [agentId, setAgentId] = useState(schedule?.virtual_mcp_id ?? '');
  const [message, setMessage] = useState(schedule?.message ?? '');
  const [cron, setCron] = useState(schedule?.cron ?? '0 9 * * 1-5');
  const [timezone, setTimezone] = useState(schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [tier, setTier] = useState<'' | 'fast' | 'smart' | 'thinking'>(schedule?.tier ?? '');
  const [overlap, setOverlap] = useState(schedule?.overlap ?? 'skip');
  const [isCatchUp, setIsCatchUp] = useState(schedule?.catch_up ?? false);
  const create = useChange('SCHEDULE_CREATE', ['SCHEDULE_LIST']);
  const update = useChange('SCHEDULE_UPDATE', ['SCHEDULE_LIST']);
  const say = useToast();
  const data = {
    title: title.trim(),
    virtual_mcp_id: agentId,
    cron: cron.trim(),
    timezone,
    message,
    tier: tier === '' ? null : tier,
    overlap,
    catch_up: isCatchUp,
  };
  const [start] = useState(data);
  const submit = async (): Promise<void> => {
    if (agentId === '') throw new Error('Choose an agent.');
    if (schedule === undefined) await create.mutateAsync({ data });
    else {
      const changes = changesOf(data, start);
      // With anything but the title, the schedule runs in the name of who saves it: with what this person has seen.
      const isTitle = Object.keys(changes).every((name) => name === 'title');
      const seen = { ...data, thread_id: schedule.thread_id };
      await update.mutateAsync({ id: schedule.id, data: isTitle ? changes : seen });
    }
    say(schedule === undefined ? 'The schedule was created.' : 'The schedule was changed.');
  };
  return (
    <FormDialog
      title={schedule === undefined ? 'Create schedule' : 'Edit schedule'}
      submitLabel={schedule === undefined ? 'Create schedule' : 'Save schedule'}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField label="Title" path="title" required maxLength={256} value={title} onChange={setTitle} autoFocus />
      <PickerField
        label="Agent"
        path="virtual_mcp_id"
        kind="agent"
        value={agentId}
        emptyLabel="Choose an agent"
        onChange={setAgentId}
      />
      <TextAreaField
        label="Message"
        path="message"
        required
        placeholder="Summarize yesterday’s support tickets."
        value={message}
        onChange={setMessage}
      />
      <When cron={cron} onCron={setCron} timezone={timezone} onTimezone={setTimezone} />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <SelectField label="Tier of the model" path="tier" value={tier} options={TIERS} onChange={setTier} />
        <SelectField label="If the run before is not over" value={overlap} options={OVERLAPS} onChange={setOverlap} />
      </div>
      <CheckboxField
        label="Make up for a missed time"
        hint="If the service was down at that time, the message is sent once when it is up again."
        checked={isCatchUp}
        onChange={setIsCatchUp}
      />
    </FormDialog>
  );
}

function When({
  cron,
  onCron,
  timezone,
  onTimezone,
}: {
  readonly cron: string;
  readonly onCron: (cron: string) => void;
  readonly timezone: string;
  readonly onTimezone: (timezone: string) => void;
}) {
  const isExample = EXAMPLES.some(({ value }) => value === cron);
  const [isOwn, setIsOwn] = useState(!isExample);
  return (
    <fieldset className="flex flex-col gap-3 rounded-md border p-3">
      <legend className="px-1 text-sm font-medium">When</legend>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <SelectField
          label="Time"
          value={isOwn ? 'own' : cron}
          options={EXAMPLES}
          onChange={(value: string) => {
            setIsOwn(value === 'own');
            if (value !== 'own') onCron(value);
          }}
        />
        <SearchSelect
          label="Time zone"
          path="timezone"
          value={timezone}
          options={zonesWith(timezone)}
          onChange={onTimezone}
        />
      </div>
      {isOwn && (
        <TextField
          label="Cron expression"
          path="cron"
          required
          className="font-mono"
          hint="Minute, hour, day of month, month, day of week."
          value={cron}
          onChange={onCron}
        />
      )}
      <NextTimes cron={cron} timezone={timezone} />
    </fieldset>
  );
}

function zonesWith(timezone: string): readonly string[] {
  return [...new Set(['UTC', timezone, ...Intl.supportedValuesOf('timeZone')])];
}

const SHOWN = 3;

/** What the expression means, and when it fires next. The service decides whether it takes the expression. */
function NextTimes({ cron, timezone }: { readonly cron: string; readonly timezone: string }) {
  const times = nextTimes(cron, timezone);
  const format = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'short', timeZone: timezone });
  return (
    <div role="status" className="text-sm">
      {times.length === 0 ? (
        <p className="text-destructive">This is no time of a calendar.</p>
      ) : (
        <>
          <p>{cronInWords(cron)}. The next times:</p>
          <ul className="list-disc pl-5 text-muted-foreground">
            {times.map((time) => (
              <li key={time.getTime()}>{format.format(time)}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function nextTimes(cron: string, timezone: string): readonly Date[] {
  try {
    return new Cron(cron, { timezone, mode: '5-part', paused: true }).nextRuns(SHOWN);
  } catch {
    return [];
  }
}
