import { type FormEvent, useState } from 'react';
import type { ToolInput } from '../../../../packages/client/src/api.js';
import { changesOf } from '../../api/changes-of.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage, ErrorState, Loading } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { SpendForm } from './spend-form.js';

interface NumberSetting {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** What an empty field stands for, if that is another than of the rest. */
  readonly placeholder?: string;
}

const LIMITS: readonly NumberSetting[] = [
  {
    name: 'requests_per_minute',
    label: 'Requests per minute',
    hint: 'HTTP requests of everybody together. More are refused until the minute is over.',
  },
  { name: 'runs_per_minute', label: 'Runs per minute', hint: 'Messages to agents. More are refused.' },
  { name: 'concurrent_runs', label: 'Runs at the same time', hint: 'More of them wait for their turn.' },
  { name: 'waiting_runs', label: 'Waiting runs', hint: 'More of them are refused.' },
  { name: 'file_bytes', label: 'Bytes of files', hint: 'Uploads beyond it are refused. Equal files count once.' },
];

const RETENTION: readonly NumberSetting[] = [
  {
    name: 'threads_days',
    label: 'Days that threads are kept',
    hint: 'After their last change, threads are deleted with their messages and runs.',
  },
  {
    name: 'runs_days',
    label: 'Days that records of runs are kept',
    hint: 'After their end. The messages of the thread stay.',
  },
  {
    name: 'model_calls_days',
    label: 'Days that recorded model calls are kept',
    hint: 'What models were sent, if the organization records it. Without a number: 30 days.',
    placeholder: '30',
  },
];

/** How much the organization can use, and how long it keeps its data. */
export function LimitsSection() {
  const { data, error, refetch } = useTool('ORGANIZATION_GET', {});
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const { limits, retention } = data.item;
  const { spend, ...counts } = limits;
  return (
    <>
      <NumbersForm
        // Other stored values begin a new form.
        key={`limits ${JSON.stringify(counts)}`}
        title="Limits"
        explanation="Protects your models and servers from a program that runs wild. An empty field is no limit; the operator of the service may have set one for all."
        placeholder="No limit"
        settings={LIMITS}
        stored={counts as Readonly<Record<string, number>>}
        toInput={(values) => ({ limits: values })}
        saveLabel="Save limits"
      />
      <SpendForm stored={spend} />
      <NumbersForm
        key={`retention ${JSON.stringify(retention)}`}
        title="Retention"
        explanation="What is older is deleted for good, a little at a time. An empty field keeps threads and runs forever."
        placeholder="Keep forever"
        settings={RETENTION}
        stored={retention as Readonly<Record<string, number>>}
        toInput={(values) => ({ retention: values })}
        saveLabel="Save retention"
      />
    </>
  );
}

function NumbersForm({
  title,
  explanation,
  placeholder,
  settings,
  stored,
  toInput,
  saveLabel,
}: {
  readonly title: string;
  readonly explanation: string;
  readonly placeholder: string;
  readonly settings: readonly NumberSetting[];
  readonly stored: Readonly<Record<string, number>>;
  readonly toInput: (values: Readonly<Record<string, number | null>>) => ToolInput<'ORGANIZATION_UPDATE'>;
  readonly saveLabel: string;
}) {
  const { may } = useOrganization();
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(settings.map(({ name }) => [name, String(stored[name] ?? '')])),
  );
  const say = useToast();
  const [start] = useState(values);
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET'], () => say(`${title} saved.`));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const changes = Object.entries(changesOf(values, start));
    const numbers = changes.map(([name, value]) => [name, value === '' ? null : Number(value)]);
    update.mutate(toInput(Object.fromEntries(numbers)));
  };
  const isChanged = settings.some(({ name }) => values[name] !== String(stored[name] ?? ''));
  return (
    <Section title={title}>
      <p className="text-sm text-muted-foreground">{explanation}</p>
      <Form error={update.error} onSubmit={submit} className="flex flex-col items-start gap-4">
        <div className="grid grid-cols-1 w-full gap-4 sm:grid-cols-2">
          {settings.map(({ name, label, hint, placeholder: own = placeholder }) => (
            <TextField
              key={name}
              label={label}
              hint={hint}
              type="number"
              min={1}
              placeholder={own}
              disabled={!may('ORGANIZATION_UPDATE')}
              value={values[name] ?? ''}
              onChange={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </div>
        {may('ORGANIZATION_UPDATE') && (
          <Button type="submit" disabled={!isChanged} isBusy={update.isPending}>
            {saveLabel}
          </Button>
        )}
        <ErrorMessage error={update.error} />
      </Form>
    </Section>
  );
}
