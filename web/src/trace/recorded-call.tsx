import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import type { ToolOutput } from '../../../packages/client/src/api.js';
import { useTool } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { CodeBlock } from '../ui/code-block.js';
import { Facts } from '../ui/page.js';
import { ErrorState, Loading } from '../ui/states.js';
import { formatDuration, formatExactCost, formatNumber } from '../ui/format.js';

type Recorded = NonNullable<ToolOutput<'RUN_MODEL_CALL_GET'>['item']>;
type RecordedText = NonNullable<Recorded['request']['instructions']>;
type RecordedPart = Recorded['response']['parts'][number];

/** How often a call that is not on record is read again, and after which time. */
const STORED_READS = 10;
const STORED_READ_MS = 2_000;

/** The permissions that reading what a model was sent takes. */
export const NEEDED_FOR_RECORDINGS = ['RUN_MODEL_CALL_GET', 'COLLECTION_THREAD_MESSAGES_LIST'];

/** What a model was sent in a call of a run and what came back, if the organization records it. */
export function RecordedCall({ runId, number }: { readonly runId: string; readonly number: number }) {
  const { may } = useOrganization();
  const isPermitted = NEEDED_FOR_RECORDINGS.every(may);
  const { data, error, refetch } = useTool(
    'RUN_MODEL_CALL_GET',
    { id: runId, number },
    { isEnabled: isPermitted, refreshMs: whileItIsStored },
  );
  if (!isPermitted) {
    return (
      <Note>
        Your role or key does not include {NEEDED_FOR_RECORDINGS.join(' and ')}, so what the model was sent is not
        shown.
      </Note>
    );
  }
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading label="Loading what the model was sent" />;
  if (data.item !== null) return <RecordedContent call={data.item} />;
  return data.setting === 'off' ? (
    <RecordingIsOff />
  ) : (
    <Note>What the model was sent is not on record. It was not recorded, is not stored yet, or is no longer kept.</Note>
  );
}

/** A call is stored a moment after it, which no change announces. */
function whileItIsStored(answer: ToolOutput<'RUN_MODEL_CALL_GET'> | undefined, reads: number): number | false {
  return answer?.item === null && answer.setting !== 'off' && reads < STORED_READS && STORED_READ_MS;
}

function RecordingIsOff() {
  const { slug, may } = useOrganization();
  return (
    <Note>
      What models are sent is not recorded: the organization has this turned off.
      {may('ORGANIZATION_UPDATE') && may('ORGANIZATION_GET') && (
        <>
          {' '}
          <Link
            to="/$org/settings/$section"
            params={{ org: slug, section: 'organization' }}
            className="text-primary underline"
          >
            Record it from now on
          </Link>
        </>
      )}
    </Note>
  );
}

/** It can hold half a megabyte, and the view of a run is drawn with each piece of the answer. */
const RecordedContent = memo(function RecordedContent({ call }: { readonly call: Recorded }) {
  const { request, response, tries, price } = call;
  const { settings } = request;
  const withoutTexts = call.is_too_large
    ? 'The texts were too large to be recorded.'
    : 'This call was recorded without its texts.';
  const toolTokens = request.tools.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <h3 className="text-sm text-muted-foreground">What the model was sent</h3>
      {call.recording === 'redacted' && <Note>{withoutTexts} Equal texts have equal hashes.</Note>}
      {request.instructions && (
        <Fold title="Instructions" more={sizeOf(request.instructions)}>
          <TextOf recorded={request.instructions} label="Instructions" />
        </Fold>
      )}
      <Fold title="Messages" more={formatNumber(request.messages.length)}>
        <ol aria-label="Messages" className="flex min-w-0 flex-col gap-3">
          {request.messages.map(({ role, parts }, index) => (
            <li key={index} className="flex min-w-0 flex-col gap-1">
              <span className="text-xs font-medium text-muted-foreground uppercase">{role}</span>
              <Parts parts={parts} />
            </li>
          ))}
        </ol>
      </Fold>
      <Fold
        title="Tools"
        more={`${formatNumber(request.tools.length)}, at most ${formatNumber(toolTokens)} tokens of ${formatNumber(request.tokens)}`}
      >
        <ul aria-label="Tools" className="flex min-w-0 flex-col gap-3">
          {request.tools.map((tool) => (
            <li key={tool.name} className="flex min-w-0 flex-col gap-1">
              <span>
                <code className="break-all">{tool.name}</code>{' '}
                <span className="text-xs text-muted-foreground">at most {formatNumber(tool.tokens)} tokens</span>
              </span>
              <TextOf recorded={tool.description} label={`Description of ${tool.name}`} />
              <TextOf recorded={tool.input_schema} label={`Schema of ${tool.name}`} isJson />
            </li>
          ))}
        </ul>
      </Fold>
      <Fold title="Settings" more={settings.response_format}>
        <Facts
          items={[
            ['Temperature', settings.temperature ?? 'the model’s own'],
            ['Output tokens', settings.max_output_tokens ?? 'the model’s own limit'],
            ['Tool choice', settings.tool_choice ?? 'none'],
            ['Answers as', settings.response_format],
            price !== null && [
              'Price',
              `${formatExactCost(price.input)} in, ${formatExactCost(price.output)} out` +
                `${price.cached_input === undefined ? '' : `, ${formatExactCost(price.cached_input)} cached`} per million tokens`,
            ],
          ]}
        />
        {settings.response_schema && <TextOf recorded={settings.response_schema} label="Schema of the answer" isJson />}
        {settings.provider_options && (
          <TextOf recorded={settings.provider_options} label="Options of the provider" isJson />
        )}
      </Fold>
      <Fold title="What came back" more={response.finish_reason ?? 'no end'}>
        {response.parts.length === 0 && <Note>Nothing.</Note>}
        <Parts parts={response.parts} />
        {(response.model !== null || response.response_id !== null) && (
          <Facts
            items={[
              response.model !== null && ['Model', response.model],
              response.response_id !== null && ['Provider’s ID', <code key="id">{response.response_id}</code>],
            ]}
          />
        )}
      </Fold>
      {tries.length > 1 && (
        <Fold title="Tries" more={formatNumber(tries.length)}>
          <ol aria-label="Tries" className="flex list-decimal flex-col gap-1 pl-5">
            {tries.map(({ started_at: at, duration_ms: duration, error_code: code }) => (
              <li key={at}>
                {code === null ? 'answered' : <code>{code}</code>} after {formatDuration(duration)}
              </li>
            ))}
          </ol>
        </Fold>
      )}
    </div>
  );
});

const PART_WORDS: Readonly<Record<RecordedPart['type'], string>> = {
  text: 'Text',
  reasoning: 'Reasoning',
  file: 'File',
  'tool-call': 'Calls',
  'tool-result': 'Result of',
  other: 'Other',
};

function Parts({ parts }: { readonly parts: readonly RecordedPart[] }) {
  return parts.map((part, index) => {
    const name = [PART_WORDS[part.type], part.tool_name ?? part.media_type].filter(Boolean).join(' ');
    return (
      <div key={index} className="flex min-w-0 flex-col gap-1">
        {part.type !== 'text' && <span className="text-xs break-words text-muted-foreground">{name}</span>}
        <TextOf recorded={part} label={name} isJson={part.tool_name !== null} isFile={part.type === 'file'} />
      </div>
    );
  });
}

/** A recorded text, or what is known of one without it. */
function TextOf({
  recorded,
  label,
  isJson = false,
  isFile = false,
}: {
  readonly recorded: RecordedText;
  readonly label: string;
  readonly isJson?: boolean;
  readonly isFile?: boolean;
}) {
  const { size, text, hash } = recorded;
  if (size === 0) return null;
  if (text === null) {
    return (
      <span className="text-xs text-muted-foreground">
        {isFile ? `${formatNumber(size)} bytes` : sizeOf(recorded)}, hash <code>{hash}</code>
      </span>
    );
  }
  return (
    <>
      {isJson ? (
        <CodeBlock label={label} text={indented(text)} />
      ) : (
        <p
          tabIndex={0}
          role="region"
          aria-label={label}
          className="max-h-96 min-w-0 overflow-auto rounded-md border bg-muted p-3 break-words whitespace-pre-wrap"
        >
          {text}
        </p>
      )}
      {text.length < size && <Note>The record ends here, of {sizeOf(recorded)}.</Note>}
    </>
  );
}

/** JSON on several lines; a text that is not JSON, or only the beginning of it, stays as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function sizeOf({ size }: RecordedText): string {
  return `${formatNumber(size)} characters`;
}

function Fold({
  title,
  more,
  children,
}: {
  readonly title: string;
  readonly more: string;
  readonly children: ReactNode;
}) {
  return (
    <details className="min-w-0 text-sm">
      <summary className="cursor-pointer py-0.5">
        {title} <span className="text-muted-foreground">({more})</span>
      </summary>
      <div className="flex min-w-0 flex-col gap-2 py-1">{children}</div>
    </details>
  );
}

function Note({ children }: { readonly children: ReactNode }) {
  return <p className="text-[0.8125rem] text-muted-foreground">{children}</p>;
}
