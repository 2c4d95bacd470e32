import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { spendDraftOf, SpendFields, spendInWords, spendOf } from '../../spending/spend-fields.js';
import { Button } from '../../ui/button.js';
import { FormDialog } from '../../ui/form-dialog.js';

type Member = ListItem<'MEMBER_LIST'>;

/** What the runs of a member can cost, and the dialog that changes it. */
export function MemberSpend({ member }: { readonly member: Member }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button
        variant="secondary"
        size="small"
        aria-label={`Spending limit of ${member.email}`}
        onClick={() => setIsOpen(true)}
      >
        {member.spend === null ? 'Spending limit' : spendInWords(member.spend)}
      </Button>
      {isOpen && <SpendDialog member={member} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function SpendDialog({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) {
  const [draft, setDraft] = useState(() => spendDraftOf(member.spend));
  const update = useChange('MEMBER_UPDATE', ['MEMBER_LIST']);
  return (
    <FormDialog
      title={`Spending limit of ${member.email}`}
      description="Of the model calls of the person’s runs, those of the person’s keys included."
      submitLabel="Save spending limit"
      onClose={onClose}
      onSubmit={() => update.mutateAsync({ id: member.id, spend: spendOf(draft) })}
    >
      <SpendFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}
