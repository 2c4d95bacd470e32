import { type FormEvent, useState } from 'react';
import { useList } from '../../api/queries.js';
import { type RunDetails, runColumns } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';

/** Chooses the run to compare with: another one of the same agent, or any by its id. */
export function ChooseRun({ run, onChoose }: { readonly run: RunDetails; readonly onChoose: (id: string) => void }) {
  const { slug } = useOrganization();
  const [id, setId] = useState('');
  const list = useList('RUN_LIST', {
    where: {
      operator: 'and',
      conditions: [
        { field: ['agent_id'], operator: 'eq', value: run.agent_id },
        { operator: 'not', conditions: [{ field: ['id'], operator: 'eq', value: run.id }] },
      ],
    },
    orderBy: [{ field: ['created_at'], direction: 'desc' }],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChoose(id.trim());
  };
  return (
    <Section title="Compare with">
      <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
        <TextField label="ID of a run" required className="min-w-56 flex-1" value={id} onChange={setId} />
        <Button type="submit" disabled={id.trim() === ''}>
          Compare with this run
        </Button>
      </form>
      <ListView
        label="Other runs of the agent"
        list={list}
        columns={[
          {
            header: 'Compare',
            cell: (other) => (
              <Button size="small" variant="secondary" onClick={() => onChoose(other.id)}>
                Compare
              </Button>
            ),
          },
          ...runColumns({ org: slug }),
        ]}
        keyOf={(other) => other.id}
        empty={<EmptyState title="The agent has no other run." />}
      />
    </Section>
  );
}
