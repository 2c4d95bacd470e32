import { type FormEvent, useState } from 'react';
import type { ToolInput } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly title: string;
  readonly meaning: string;
}

/** Chooses one value of a setting of the organization, each with what it means. */
export function ChoiceForm<Value extends string>({
  title,
  choices,
  stored,
  toInput,
  saveLabel,
  savedMessage,
}: {
  readonly title: string;
  readonly choices: readonly Choice<Value>[];
  readonly stored: Value;
  readonly toInput: (value: Value) => ToolInput<'ORGANIZATION_UPDATE'>;
  readonly saveLabel: string;
  readonly savedMessage: string;
}) {
  const { may } = useOrganization();
  const [value, setValue] = useState(stored);
  const say = useToast();
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET'], () => say(savedMessage));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate(toInput(value));
  };
  const idOf = (choice: string): string => `${title} ${choice}`.toLowerCase().replaceAll(' ', '-');
  return (
    <Section title={title}>
      <form onSubmit={submit} className="flex flex-col items-start gap-3">
        <fieldset className="flex flex-col gap-2" disabled={!may('ORGANIZATION_UPDATE')}>
          <legend className="sr-only">{title}</legend>
          {choices.map((choice) => (
            <div key={choice.value} className="flex items-start gap-2">
              <input
                id={idOf(choice.value)}
                type="radio"
                name={title}
                className="mt-1 accent-primary"
                checked={value === choice.value}
                aria-describedby={`${idOf(choice.value)}-meaning`}
                onChange={() => setValue(choice.value)}
              />
              <div>
                <label htmlFor={idOf(choice.value)} className="font-medium">
                  {choice.title}
                </label>
                <p id={`${idOf(choice.value)}-meaning`} className="text-[0.8125rem] text-muted-foreground">
                  {choice.meaning}
                </p>
              </div>
            </div>
          ))}
        </fieldset>
        {may('ORGANIZATION_UPDATE') && (
          <Button type="submit" disabled={value === stored} isBusy={update.isPending}>
            {saveLabel}
          </Button>
        )}
        <ErrorMessage error={update.error} />
      </form>
    </Section>
  );
}
