import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Run } from '../records/run-columns.js';
import { useOrganization } from '../session/organization.js';
import type { ChatMessage, MessagePart, ToolPart } from '../transcript/message.js';
import { MessageParts } from '../transcript/message-parts.js';
import { ToolArguments } from '../transcript/tool-arguments.js';
import { ToolOutput } from '../transcript/tool-output.js';
import { StatusBadge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { CodeBlock, JsonBlock } from '../ui/code-block.js';
import { Facts, Section } from '../ui/page.js';
import { formatDuration, formatExactCost, formatNumber } from '../ui/format.js';
import { Time } from '../ui/time.js';
import { RecordedCall } from './recorded-call.js';
import type { Span } from './span.js';

/** One stretch of a run: what went in, what came out, what it cost and who permitted it. */
export function SpanDetails({
  span,
  message,
  run,
  onClose,
}: {
  readonly span: Span;
  /** The answer of the run, as far as it is known. */
  readonly message: ChatMessage | undefined;
  readonly run: Run;
  readonly onClose: () => void;
}) {
  const raw = span.modelCall ?? span.toolCall ?? span.part;
  return (
    <Section
      title={span.label}
      actions={
        <Button size="small" variant="ghost" onClick={onClose}>
          Close
        </Button>
      }
    >
      {span.kind === 'model' && <ModelDetails span={span} message={message} run={run} />}
      {span.kind === 'tool' && <ToolDetails span={span} />}
      {span.kind === 'approval' && <ApprovalDetails span={span} />}
      {span.kind === 'queue' && (
        <p className="text-sm">
          {span.id === 'queue'
            ? 'A run begins once the runs of its thread before it are over and its caller has a worker.'
            : 'After an approval or the loss of a worker, another worker goes on.'}
        </p>
      )}
      {raw !== undefined && (
        <details className="min-w-0 text-sm">
          <summary className="cursor-pointer text-muted-foreground">Raw JSON</summary>
          <JsonBlock value={raw} label={`Raw JSON of ${span.label}`} />
        </details>
      )}
    </Section>
  );
}

function ModelDetails({
  span: { modelCall: call, callNumber, model, fallback },
  message,
  run,
}: {
  readonly span: Span;
  readonly message: ChatMessage | undefined;
  readonly run: Run;
}) {
  if (call === undefined) return <p className="text-sm">The call has not ended, so it has no record yet.</p>;
  const parts = call.error_code === null && message ? partsOfStep(message, call.step) : [];
  const asked = parts.filter((part) => part.type === 'dynamic-tool');
  const said = parts.filter(({ type }) => type === 'text' || type === 'reasoning');
  return (
    <>
      <Facts
        items={[
          ['Model', model ?? 'not recorded'],
          ['Step', formatNumber(call.step)],
          call.attempt > 1 && ['Attempt', formatNumber(call.attempt)],
          call.error_code !== null && ['Error', <code key="error">{call.error_code}</code>],
          fallback !== undefined && ['Went on to', fallback ?? 'another model'],
          ['Started', <Time key="started" value={call.started_at} />],
          ['Took', formatDuration(call.duration_ms)],
          call.first_chunk_ms !== null && ['First token', `after ${formatDuration(call.first_chunk_ms)}`],
          call.retries > 0 && [
            'Repeated',
            `${call.retries === 1 ? 'once' : `${formatNumber(call.retries)} times`}, because the provider refused`,
          ],
          call.input_tokens !== null && ['Input', inputOf(call.input_tokens, call.cached_input_tokens)],
          call.output_tokens !== null && ['Output', outputOf(call.output_tokens, call.reasoning_tokens)],
          ['Cost', call.cost_usd === null ? 'no price set' : formatExactCost(call.cost_usd)],
          asked.length > 0 && ['Asked for', asked.map(({ toolName }) => toolName).join(', ')],
        ]}
      />
      {message && said.length > 0 && (
        <Part title="What the model answered">
          <MessageParts message={{ ...message, parts: said }} threadId={run.thread_id} isStreaming={false} />
        </Part>
      )}
      {callNumber !== undefined && <RecordedCall runId={run.id} number={callNumber} />}
    </>
  );
}

function outputOf(output: number, reasoning: number | null): string {
  return `${formatNumber(output)} tokens${reasoning ? `, ${formatNumber(reasoning)} of them hidden reasoning` : ''}`;
}

function inputOf(input: number, cached: number | null): string {
  return `${formatNumber(input)} tokens${cached ? `, ${formatNumber(cached)} of them from the cache` : ''}`;
}

/** The parts of an answer that belong to a step. */
function partsOfStep({ parts }: ChatMessage, step: number): readonly MessagePart[] {
  let number = 0;
  return parts.filter(({ type }) => {
    if (type === 'step-start') number += 1;
    return type !== 'step-start' && number === step;
  });
}

function ToolDetails({ span: { toolCall: call, part } }: { readonly span: Span }) {
  const { slug } = useOrganization();
  if (call === undefined) {
    return (
      <>
        <p className="text-sm">The call has not ended, so it has no record yet.</p>
        {part?.input !== undefined && <ToolArguments input={part.input} toolName={part.toolName} />}
      </>
    );
  }
  const name = call.tool_name;
  return (
    <>
      <Facts
        items={[
          ['Outcome', <StatusBadge key="outcome" status={call.status} />],
          call.error_code !== null && ['Error', <code key="error">{call.error_code}</code>],
          call.connection_id !== null && [
            'Connection',
            <Link
              key="connection"
              to="/$org/connections/$connectionId"
              params={{ org: slug, connectionId: call.connection_id }}
              className="text-primary underline"
            >
              {call.connection_title ?? call.connection_id}
            </Link>,
          ],
          part !== undefined && part.toolName !== name && ['Called as', <code key="name">{part.toolName}</code>],
          ['Started', <Time key="started" value={call.at} />],
          ['Took', formatDuration(call.duration_ms)],
          ['Allowed by', allowedBy(call, part)],
          [
            'Record',
            <Link
              key="record"
              to="/$org/monitoring"
              params={{ org: slug }}
              search={{ record: call.id } as never}
              className="text-primary underline"
            >
              Open in the record of calls
            </Link>,
          ],
        ]}
      />
      {part?.input !== undefined ? (
        <ToolArguments input={part.input} toolName={name} />
      ) : (
        call.arguments !== null && <JsonBlock value={call.arguments} label={`Arguments of ${name}`} />
      )}
      {part?.state === 'output-available' && (
        <Part title="Result">
          <ToolOutput output={part.output} toolName={name} />
        </Part>
      )}
      {part?.state === 'output-error' && (
        <Part title="Error">
          <CodeBlock text={part.errorText} label={`Error of ${name}`} />
        </Part>
      )}
    </>
  );
}

function allowedBy({ public: isPublic, status }: NonNullable<Span['toolCall']>, part: ToolPart | undefined): string {
  if (status === 'denied') return 'nothing: it was denied';
  if (part?.approval?.approved) return 'a permission of the caller, and an approval';
  return isPublic ? 'the tool: it is public' : 'a permission of the caller';
}

function ApprovalDetails({ span: { part, answer } }: { readonly span: Span }) {
  if (part === undefined) return null;
  const { approval } = part;
  const decision = approval?.approved ? 'approved' : 'denied';
  const word = approval?.approved === undefined ? (answer ? 'answered' : 'not answered yet') : decision;
  return (
    <>
      <Facts
        items={[
          ['Tool', <code key="tool">{part.toolName}</code>],
          ['Answer', word],
          answer !== undefined && ['By', answer.by ?? 'unknown'],
          answer !== undefined && ['At', <Time key="at" value={answer.at} />],
          approval?.reason !== undefined && ['Reason', approval.reason],
        ]}
      />
      {part.input !== undefined && <ToolArguments input={part.input} toolName={part.toolName} />}
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <h3 className="text-sm text-muted-foreground">{title}</h3>
      {children}
    </div>
  );
}
