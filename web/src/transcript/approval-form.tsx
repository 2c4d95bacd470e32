import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useOrganization } from '../session/organization.js';
import { Button } from '../ui/button.js';
import { TextField } from '../ui/field.js';
import { ErrorMessage } from '../ui/states.js';

const MAX_REASON_LENGTH = 1000;

/** Asks whether a tool call may be made. The run goes on when all its questions are answered. */
export function ApprovalForm({
  threadId,
  approvalId,
  toolName,
  onAnswered,
}: {
  readonly threadId: string;
  readonly approvalId: string;
  readonly toolName: string;
  readonly onAnswered?: (() => void) | undefined;
}) {
  const { client, may } = useOrganization();
  const [reason, setReason] = useState('');
  const answer = useMutation({
    mutationFn: (approved: boolean) =>
      client.approve(threadId, approvalId, { approved, ...(reason.trim() && { reason: reason.trim() }) }),
    onSuccess: () => onAnswered?.(),
  });
  if (!may('RUN_APPROVE')) {
    return <p>This call waits for somebody who may approve it. Your role or key does not include RUN_APPROVE.</p>;
  }
  const isAnswered = answer.isPending || answer.isSuccess;
  return (
    <div role="group" aria-label={`Approval of ${toolName}`} className="flex flex-col gap-2 border-t pt-2">
      <p className="font-medium">May the agent make this call?</p>
      <TextField
        label="Reason (optional)"
        hint="The model reads the reason of a denial."
        value={reason}
        onChange={setReason}
        maxLength={MAX_REASON_LENGTH}
        disabled={isAnswered}
      />
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          disabled={isAnswered}
          isBusy={isAnswered && answer.variables}
          onClick={() => answer.mutate(true)}
        >
          Approve
        </Button>
        <Button
          size="small"
          variant="danger"
          disabled={isAnswered}
          isBusy={isAnswered && !answer.variables}
          onClick={() => answer.mutate(false)}
        >
          Deny
        </Button>
      </div>
      <ErrorMessage error={answer.error} />
    </div>
  );
}
