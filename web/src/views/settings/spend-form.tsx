import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { type Spend, type SpendDraft, spendDraftOf, SpendFields, spendOf } from '../../spending/spend-fields.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { Form } from '../../ui/form.js';
import { ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';

/** What the model calls of the organization can cost. */
export function SpendForm({ stored }: { readonly stored: Spend | undefined }) {
  const { may } = useOrganization();
  const [edited, setEdited] = useState<SpendDraft>();
  const draft = edited ?? spendDraftOf(stored);
  const say = useToast();
  const update = useChange('ORGANIZATION_UPDATE', ['ORGANIZATION_GET'], () => say('Spending limit saved.'));
  const isChanged = JSON.stringify(draft) !== JSON.stringify(spendDraftOf(stored));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // What was typed meanwhile stays.
    const onSuccess = (): void => setEdited((current) => (current === edited ? undefined : current));
    update.mutate({ limits: { spend: spendOf(draft) } }, { onSuccess });
  };
  return (
    <Section title="Spending">
      <p className="text-sm text-muted-foreground">
        When a limit is reached, runs end and messages are refused until the next day or month. A model without a price
        is then not called.
      </p>
      <Form error={update.error} onSubmit={submit} className="flex flex-col items-start gap-4">
        <SpendFields draft={draft} disabled={!may('ORGANIZATION_UPDATE')} onChange={setEdited} />
        {may('ORGANIZATION_UPDATE') && (
          <Button type="submit" disabled={!isChanged} isBusy={update.isPending}>
            Save spending limit
          </Button>
        )}
        {update.data?.warnings?.map(({ path, message }) => (
          <p key={path} role="status" className="text-sm text-warning">
            {path}: {message}
          </p>
        ))}
        <ErrorMessage error={update.error} />
      </Form>
    </Section>
  );
}
