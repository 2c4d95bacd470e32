import { useMutation } from '@tanstack/react-query';
import { type FileUIPart, generateId } from 'ai';
import { useRef, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextAreaField } from '../../ui/field.js';
import { ErrorMessage } from '../../ui/states.js';
import type { RunOptions } from './run-options.js';
import { useStartChat } from './start-chat.js';

/** Changes a message and sends it again, in a copy of the conversation up to there: threads are never rewritten. */
export function EditButton({
  thread,
  text,
  files,
  previousId,
  isFirst,
  options,
  onThread,
}: {
  readonly thread: ListItem<'COLLECTION_THREADS_LIST'>;
  readonly text: string;
  /** The files of the message, which are sent again. */
  readonly files: readonly FileUIPart[];
  /** The message before, up to which the conversation is copied. */
  readonly previousId: string | undefined;
  readonly isFirst: boolean;
  readonly options: RunOptions;
  /** Gets the id of the new thread. */
  readonly onThread: (threadId: string) => void;
}) {
  const { client, may } = useOrganization();
  const { createThread, post } = useStartChat();
  const [draft, setDraft] = useState<string>();
  const [messageId] = useState(generateId);
  // A second try after a refusal uses the thread of the first.
  const copy = useRef<string>(undefined);
  const resend = useMutation({
    mutationFn: async (changed: string) => {
      const agentId = thread.virtual_mcp_id;
      const message = { text: changed, files };
      copy.current ??= isFirst ? await createThread(agentId, message) : await copyThread();
      await post({ threadId: copy.current, messageId, agentId, draft: message, options });
      return copy.current;
    },
  });
  const copyThread = async (): Promise<string> => {
    const until = previousId === undefined ? {} : { until_message_id: previousId };
    return (await client.tool('THREAD_COPY', { id: thread.id, ...until })).item.id;
  };
  if (!may('COLLECTION_THREADS_CREATE') || (!isFirst && !may('THREAD_COPY'))) return null;
  if (!isFirst && previousId === undefined) return null;
  return (
    <>
      <Button size="small" variant="ghost" aria-haspopup="dialog" onClick={() => setDraft(text)}>
        Edit
      </Button>
      <Dialog
        title="Edit and send again"
        description="The conversation before this message is copied to a new thread, where the changed message is sent. This thread stays as it is."
        isOpen={draft !== undefined}
        onClose={() => setDraft(undefined)}
      >
        <TextAreaField
          label="Message"
          hint={files.length > 0 && 'Its files are sent again, too.'}
          rows={6}
          value={draft ?? ''}
          onChange={setDraft}
        />
        <ErrorMessage error={resend.error} />
        <div className="flex justify-end gap-2">
          <Button variant="secondary" onClick={() => setDraft(undefined)}>
            Cancel
          </Button>
          <Button
            isBusy={resend.isPending}
            disabled={(draft ?? '').trim() === '' && files.length === 0}
            onClick={() => resend.mutate(draft ?? '', { onSuccess: onThread })}
          >
            Send in a new thread
          </Button>
        </div>
      </Dialog>
    </>
  );
}
