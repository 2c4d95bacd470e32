import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';

type RunAccess = 'members' | 'granted';

const CHOICES: readonly { readonly value: RunAccess; readonly title: string; readonly meaning: string }[] = [
  {
    value: 'members',
    title: 'Every valid credential',
    meaning:
      'Every member and every API key can send messages to every agent and read the answers. An agent calls its ' +
      'tools itself, so a key without a single permission can still have an agent call tools.',
  },
  {
    value: 'granted',
    title: 'Only who was granted the agent',
    meaning:
      'Sending messages, reading answers and cancelling need a permission that names the agent, such as one of its ' +
      'tools.',
  },
];

/** Chooses who can run agents. */
export function RunAccessForm({ stored }: { readonly stored: RunAccess }) {
  const { may } = useOrganization();
  const [value, setValue] = useState(stored);
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET']);
  const say = useToast();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate({ run_access: value }, { onSuccess: () => say('Saved. It counts within a second.') });
  };
  return (
    <Section title="Who can run agents">
      <form onSubmit={submit} className="flex flex-col items-start gap-3">
        <fieldset className="flex flex-col gap-2" disabled={!may('ORGANIZATION_UPDATE')}>
          <legend className="sr-only">Who can run agents</legend>
          {CHOICES.map((choice) => (
            <div key={choice.value} className="flex items-start gap-2">
              <input
                id={`run-access-${choice.value}`}
                type="radio"
                name="run-access"
                className="mt-1 accent-primary"
                checked={value === choice.value}
                aria-describedby={`run-access-${choice.value}-meaning`}
                onChange={() => setValue(choice.value)}
              />
              <div>
                <label htmlFor={`run-access-${choice.value}`} className="font-medium">
                  {choice.title}
                </label>
                <p id={`run-access-${choice.value}-meaning`} className="text-[0.8125rem] text-muted-foreground">
                  {choice.meaning}
                </p>
              </div>
            </div>
          ))}
        </fieldset>
        {may('ORGANIZATION_UPDATE') && (
          <Button type="submit" disabled={value === stored} isBusy={update.isPending}>
            Save who can run agents
          </Button>
        )}
        <ErrorMessage error={update.error} />
      </form>
    </Section>
  );
}
