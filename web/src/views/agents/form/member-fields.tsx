import { useId, useState } from 'react';
import { type McpTool, useMcpList } from '../../../api/mcp.js';
import { StatusBadge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { Loading } from '../../../ui/states.js';
import type { Connection } from '../member-connections.js';
import type { ApprovalRule, MemberDraft } from './agent-draft.js';
import { DressedTools } from './dressed-tools.js';
import { prefixOf } from './name-conflicts.js';
import { toolOf, withTools } from './selected-tools.js';
import { ToolChoice } from '../../../tools/tool-choice.js';

const SELECTIONS = [
  { value: 'all', label: 'All tools, also future ones' },
  { value: 'some', label: 'Only chosen tools' },
] as const;

const APPROVALS = [
  { value: 'none', label: 'Never ask' },
  { value: 'destructive', label: 'Ask before destructive calls' },
  { value: 'all', label: 'Ask before every call' },
  { value: 'some', label: 'Ask before calls of chosen tools' },
] as const;

type Approval = (typeof APPROVALS)[number]['value'];

const APPROVAL_HINTS: Readonly<Record<Approval, string>> = {
  none: 'Runs call the tools without asking anybody.',
  destructive:
    'Asks unless the server says that a tool is read-only or not destructive. These marks are the server’s own claims.',
  all: 'A run waits until somebody with the permission RUN_APPROVE approves the call.',
  some: 'Choose the tools below. A run waits until somebody approves the call.',
};

/** What an agent uses of one connection: which tools, before which it asks, and the prefix of its names. */
export function MemberFields({
  member,
  connection,
  error,
  onChange,
  onRemove,
}: {
  readonly member: MemberDraft;
  /** Undefined while it is read, or if it is gone. */
  readonly connection: Connection | undefined;
  /** What the service said about this connection. */
  readonly error: string | undefined;
  readonly onChange: (member: MemberDraft) => void;
  readonly onRemove: () => void;
}) {
  const headingId = useId();
  const { approval, selectedTools } = member;
  const [isOpen, setIsOpen] = useState(false);
  const approvalKind: Approval = typeof approval === 'string' ? approval : 'some';
  const needsList = selectedTools !== null || approvalKind === 'some';
  const tools = useMcpList(member.connectionId, 'tools');
  const set = (change: Partial<MemberDraft>): void => onChange({ ...member, ...change });
  const title = connection?.title ?? 'Connection';
  return (
    <section aria-labelledby={headingId} className="flex min-w-0 flex-col gap-3 rounded-md border p-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 id={headingId} className="flex min-w-0 flex-wrap items-center gap-2 font-medium wrap-anywhere">
          {title} {connection && connection.status !== 'active' && <StatusBadge status={connection.status} />}
        </h3>
        <Button variant="ghost" size="small" aria-label={`Remove ${title}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
      <Warning connection={connection} />
      {error && <p className="text-sm break-words text-destructive">{error}</p>}
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <SelectField
          label={`Tools of ${title}`}
          value={selectedTools === null ? 'all' : 'some'}
          options={SELECTIONS}
          onChange={(value) => set({ selectedTools: value === 'all' ? null : namesOf(tools.data) })}
          hint={selectedTools === null ? countOf(tools.data) : `${selectedTools.length} chosen`}
        />
        <SelectField
          label={`Approvals of ${title}`}
          value={approvalKind}
          options={APPROVALS}
          onChange={(value) => set({ approval: ruleOf(value) })}
          hint={APPROVAL_HINTS[approvalKind]}
        />
      </div>
      {needsList &&
        (tools.isPending ? (
          <Loading label={`Loading the tools of ${title}`} />
        ) : (
          <ToolChoice
            title={title}
            tools={tools.data ?? []}
            isUnreadable={tools.isError && tools.data === undefined}
            absence={connection?.pin === 'block' ? 'not offered, or not approved' : 'not offered at the moment'}
            selected={selectedTools && [...new Set(selectedTools.map(toolOf))]}
            asking={typeof approval === 'string' ? undefined : approval}
            onSelected={(names) => set({ selectedTools: withTools(selectedTools ?? [], names) })}
            onAsking={(names) => set({ approval: [...names] })}
          />
        ))}
      {selectedTools !== null && tools.isSuccess && (
        <DressedTools
          title={title}
          tools={tools.data}
          selected={selectedTools}
          onChange={(selected) => set({ selectedTools: selected })}
        />
      )}
      {isOpen || member.prefix !== '' ? (
        <TextField
          label={`Prefix of ${title} (optional)`}
          hint="Put before the names of tools that another connection of the agent has too. 1 to 32 of a-z, 0-9, _ and -."
          placeholder={connection && prefixOf(connection.title)}
          pattern="[a-z0-9_\-]{1,32}"
          autoComplete="off"
          value={member.prefix}
          onChange={(prefix) => set({ prefix })}
        />
      ) : (
        <Button variant="ghost" size="small" className="self-start" onClick={() => setIsOpen(true)}>
          Set a prefix for the names
        </Button>
      )}
    </section>
  );
}

function Warning({ connection }: { readonly connection: Connection | undefined }) {
  if (connection === undefined || connection.status === 'active') return null;
  return (
    <p className="text-sm break-words text-warning">
      {connection.status === 'inactive'
        ? 'This connection is switched off: the agent does without its tools.'
        : `This connection does not work at the moment: ${connection.status_reason ?? 'its last check failed.'}`}
    </p>
  );
}

function ruleOf(kind: Approval): ApprovalRule {
  return kind === 'some' ? [] : kind;
}

function namesOf(tools: readonly McpTool[] | undefined): readonly string[] {
  return tools?.map(({ name }) => name) ?? [];
}

function countOf(tools: readonly McpTool[] | undefined): string | undefined {
  return tools === undefined ? undefined : `${tools.length} at the moment`;
}
