import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleText } from '../../../packages/client/src/visible-json.js';
import { resultKey } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { Button } from '../ui/button.js';
import { TextField } from '../ui/field.js';
import { Facts } from '../ui/page.js';
import { ErrorMessage } from '../ui/states.js';
import { ToolArguments } from './tool-arguments.js';

const MAX_REASON_LENGTH = 1000;

type RunResult = Awaited<ReturnType<ReturnType<typeof useOrganization>['client']['result']>>;
type Pending = RunResult['pending_approvals'][number];

/** A question of a run: whether a tool call may be made. */
export interface Question {
  readonly taskId: string;
  readonly approvalId: string;
  readonly pending: Pending | undefined;
  readonly answered: RunResult['answered_approvals'][number] | undefined;
  readonly error: Error | null;
  readonly isLoading: boolean;
}

/**
 * What the service has on record about a question; undefined without one. The run goes on when all its questions are
 * answered. Until then its stream and its transcript have no answer, so the result of the run says which questions are
 * open.
 */
export function useQuestion(taskId: string | undefined, approvalId: string | undefined): Question | undefined {
  const { client, slug } = useOrganization();
  const isAsked = taskId !== undefined && approvalId !== undefined;
  const run = useQuery({
    queryKey: resultKey(slug, taskId),
    queryFn: ({ signal }) => client.result(taskId ?? '', { signal }),
    enabled: isAsked,
    // A cached result could be older than the question.
    refetchOnMount: 'always',
  });
  if (!isAsked) return undefined;
  const pending = run.data?.pending_approvals.find(({ id }) => id === approvalId);
  const answered = run.data?.answered_approvals.find(({ id }) => id === approvalId);
  return { taskId, approvalId, pending, answered, error: run.error, isLoading: run.isFetching };
}

interface ApprovalProps {
  readonly question: Question;
  readonly threadId: string;
  readonly toolName: string;
  readonly onAnswered?: (() => void) | undefined;
}

/** Shows what is asked, and takes the answer. */
export function ApprovalForm({ question, toolName, ...place }: ApprovalProps) {
  const { pending, answered, error, isLoading } = question;
  return (
    <div role="group" aria-label={`Approval of ${toolName}`} className="flex min-w-0 flex-col gap-2 border-t pt-2">
      {answered !== undefined ? (
        <p className="break-words">
          {answered.approved ? 'Approved' : 'Denied'}
          {answered.reason && `: ${answered.reason}`}{' '}
          <span className="text-muted-foreground">The agent goes on when all its questions are answered.</span>
        </p>
      ) : pending !== undefined ? (
        <OpenQuestion pending={pending} question={question} {...place} />
      ) : error ? (
        <ErrorMessage error={error} />
      ) : (
        <p className="text-muted-foreground">
          {isLoading ? 'Loading what is asked…' : 'This question is no longer open.'}
        </p>
      )}
    </div>
  );
}

type OpenProps = Omit<ApprovalProps, 'toolName'>;

function OpenQuestion({ pending, ...props }: OpenProps & { readonly pending: Pending }) {
  const { may } = useOrganization();
  const {
    connection_id: id,
    connection_title: title,
    connection_host: host,
    upstream_tool: tool,
    tool_name: name,
    input,
  } = pending;
  return (
    <>
      <p className="font-medium">May the agent make this call?</p>
      <Facts
        items={[
          ['Connection', title === null ? `deleted (${id})` : visibleText(title)],
          [
            'Server',
            <code key="server">{host === null ? 'a program on the server of this service' : visibleText(host)}</code>,
          ],
          [
            'Tool',
            <code key="tool" className="break-all">
              {visibleText(tool ?? name)}
            </code>,
          ],
        ]}
      />
      <ToolArguments input={input} toolName={name} />
      {may('RUN_APPROVE') ? (
        <Answer {...props} />
      ) : (
        <p>This call waits for somebody who may approve it. Your role or key does not include RUN_APPROVE.</p>
      )}
    </>
  );
}

function Answer({ question: { taskId, approvalId }, threadId, onAnswered }: OpenProps) {
  const { client, slug } = useOrganization();
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const answer = useMutation({
    mutationFn: (approved: boolean) =>
      client.approve(threadId, approvalId, { approved, ...(reason.trim() && { reason: reason.trim() }) }),
    onSuccess: () => onAnswered?.(),
    // Also after a refusal: somebody else may have answered.
    onSettled: () => void queries.invalidateQueries({ queryKey: resultKey(slug, taskId) }),
  });
  const isAnswered = answer.isPending || answer.isSuccess;
  return (
    <>
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
    </>
  );
}
